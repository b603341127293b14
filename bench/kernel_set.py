"""The kernels whose counts and times are compared with a GPU: real ones, the ladders, ones with one limiter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import gridstride as gs
from gridstride.device.choice import device as choose
from gridstride.judge.cases.data import generate
from gridstride.judge.execution.runnable import Runnable, build
from gridstride.judge.find import find
from gridstride.judge.problem import Case as Data

KERNELS = Path(__file__).parent / "kernels"
SMS = 132
Arguments = Callable[[], tuple[Any, ...]]


@dataclass(frozen=True)
class Case:
    """One launch: a kernel of a file in kernels/, or what `kernel` gives; `arguments` puts its data on the device."""

    name: str
    grid: Any
    block: Any
    arguments: Arguments
    kernel: Callable[[], Any]
    shared: int = 0

    def launch(self, *, observe: bool = False) -> Any:
        """Runs it once on the device in use; the run where it is observed."""
        arguments = self.arguments()
        if self.block is None:  # Triton's own
            if observe:
                return self.kernel().observe(self.grid)(*arguments)
            self.kernel().launch(grid=self.grid, args=arguments)
        elif observe:
            return self.kernel().observe(self.grid, self.block, self.shared)(*arguments)
        else:
            self.kernel()[self.grid, self.block, self.shared](*arguments)
        choose().synchronize()
        return None


@cache
def module(filename: str) -> Any:
    return gs.cuda((KERNELS / filename).read_text(), filename=filename)


def _of(filename: str, entry: str) -> Callable[[], Any]:
    return lambda: module(filename)[entry]


def put(values: Any) -> Any:
    return gs.to_device(np.ascontiguousarray(values))


# -- the ladders ------------------------------------------------------------------------------------------------------
def ladder(problem: str, sizes: Mapping[str, int], *, number: str | None = None) -> Iterator[Case]:
    """All rungs of a problem at one size; `arguments` draws its data anew for each."""
    folder = find(problem)
    for file in folder.rungs():
        if number is not None and not file.name.startswith(number):
            continue
        runnable = cache(partial(lambda file: build(folder.problem, file, choose()), file))
        launch = file.launch or folder.problem.launch
        assert launch is not None
        shape = launch.shape({**sizes, "SMS": SMS})
        label = "x".join(str(v) for v in dict.fromkeys(sizes.values()))
        yield Case(
            f"{problem}/{file.name}/{label}", shape.grid, shape.block, lambda: _drawn(folder.problem, sizes),
            partial(_kernel, runnable), shape.shared,
        )  # fmt: skip


def _kernel(runnable: Callable[[], Runnable]) -> Any:
    return runnable().kernel


def _drawn(problem: Any, sizes: Mapping[str, int]) -> tuple[Any, ...]:
    values = generate(problem, Data(dict(sizes), "normal", 1))
    found = []
    for p in problem.parameters:
        if p.role == "scalar":
            found.append(values[p.name])
        elif p.role == "out":
            found.append(gs.empty(problem.shape(p, sizes), p.dtype))
        else:
            found.append(put(values[p.name]))
    return tuple(found)


SMALL = {
    "saxpy": {"n": 5000}, "vector_add": {"n": 1 << 14}, "transpose": {"M": 128, "N": 96},
    "box_blur": {"H": 70, "W": 132}, "grayscale": {"H": 61, "W": 68}, "reduction": {"n": 20000},
    "matmul": {"M": 128, "N": 160, "K": 96},
}  # fmt: skip
"""What the ladders that an H200 has counted are counted at: small, with ragged edges where that is all the same."""

LARGE = {
    "saxpy": [{"n": 1 << p} for p in (18, 22, 26)],
    "vector_add": [{"n": 1 << p} for p in (18, 22, 26)],
    "reduction": [{"n": 1 << p} for p in (18, 22, 26)],
    "transpose": [{"M": n, "N": n} for n in (1024, 4096, 8192)],
    "box_blur": [{"H": n, "W": n} for n in (1024, 4096, 8192)],
    "grayscale": [{"H": n, "W": n} for n in (1024, 4096, 8192)],
    "matmul": [{"M": n, "N": n, "K": n} for n in (512, 1024, 2048, 4096)],
}
"""What they are timed at."""


def small_ladders() -> Iterator[Case]:
    for problem, sizes in SMALL.items():
        yield from ladder(problem, sizes)


# -- small real kernels -----------------------------------------------------------------------------------------------
def _rng() -> Any:
    return np.random.default_rng(11)


def _softmax() -> Any:
    from triton_softmax import softmax

    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32", "columns": "i32", "stride": "i32"}
    return gs.triton(softmax, signature=signature, constants={"BLOCK": 1024}, num_warps=4)["softmax"]


def real() -> Iterator[Case]:
    """Kernels as people write them, at sizes that a simulator runs in no time."""
    n = 4000
    f4, f8, i4 = np.float32, np.float64, np.int32
    rng = _rng()
    data = rng.integers(0, 256, n).astype(np.uint8)
    where = rng.integers(0, n, n).astype(i4)
    x = rng.standard_normal(n).astype(f4)
    halves = [rng.standard_normal((64, 64)).astype(np.float16) for _ in range(2)]
    big = rng.standard_normal(64 * 128).astype(f4)

    def case(entry: str, grid: Any, block: Any, arguments: Arguments, shared: int = 0) -> Case:
        return Case(entry, grid, block, arguments, _of("real.cu", entry), shared)

    def zeros(count: int, dtype: Any = f4) -> Any:
        return put(np.zeros(count, dtype))

    yield case("histogram", 16, 256, lambda: (put(data), zeros(256, i4), n))
    yield case("histogram_shared", 4, 256, lambda: (put(data), zeros(256, i4), n))
    yield case("tickets", 16, 256, lambda: (zeros(97, i4), zeros(n, i4), n))
    yield case("gather", 16, 256, lambda: (put(x), put(where), zeros(n), n))
    yield case("scatter", 16, 256, lambda: (put(x), put(where), zeros(n), n))
    yield case("particles_aos", 16, 256, lambda: (zeros(8 * n), n, 0.1))
    yield case("particles_soa", 16, 256, lambda: (*(zeros(n) for _ in range(6)), n, 0.1))
    yield case("collatz", 4, 256, lambda: (put(where[:1000] + 1), zeros(1000, i4), 1000))
    yield case("filter", 16, 256, lambda: (put(x), zeros(n), n))
    yield case("local_sort", 4, 64, lambda: (put(where), zeros(256, i4), n))
    yield case("scan", 4, 1024, lambda: (put(np.resize(where, 4096)), zeros(4096, i4)))
    yield case("softmax_rows", 8, 256, lambda: (put(big), zeros(64 * 128), 1000))
    yield case("wmma_global", (4, 4), 32, lambda: (*map(put, halves), zeros(4096), 64))
    yield case("wmma_columns", (4, 4), 32, lambda: (*map(put, halves), zeros(4096), 64))
    yield case("wmma_shared", (4, 4), 32, lambda: (*map(put, halves), zeros(4096), 64))
    yield case("ldmatrix_mma", 1, 32, lambda: (*map(put, halves), zeros(128)))
    yield case("async_copies", 4, 256, lambda: (put(big), zeros(64 * 128)))
    yield case("async_words", (2, 2), (32, 8), lambda: (put(big), zeros(64 * 128)))
    yield case("tensor_boxes", (4, 4), 128, lambda: (gs.tensor_map(put(big.reshape(64, 128)), (16, 32)), zeros(8192)))
    yield case("bulk_copy", 8, 1024, lambda: (put(big), zeros(64 * 128)))
    yield case("doubles", 16, 256, lambda: (put(abs(x).astype(f8)), zeros(n, f8), n))
    yield case("weighted_bins", 16, 256, lambda: (put(data), zeros(256, i4), zeros(256), zeros(1, i4), n))
    yield case("mixed_spaces", 1, 256, lambda: (put(x), zeros(256)))
    yield case("halves_and_bytes", 16, 256, lambda: (put(data.astype(np.uint16)), put(data), zeros(n, f8), n))
    yield case("volatile_pairs", 16, 256, lambda: (zeros(2 * n), n))
    yield Case("triton_softmax", 8, None, lambda: (put(big[: 8 * 1000]), zeros(8000), 1000, 1000), cache(_softmax))


# -- kernels with one limiter -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Limited:
    """A kernel that is limited by one thing. `rounds` is its parameter n; counts grow linearly with it and the grid.

    `arguments(blocks, n)`; `limiter`: the names that are right, the first is what it was written for (where others
    follow, Nsight Compute finds those as busy: tests/virtual/fixtures/limited_ncu_h200.json); `held` is for the
    half that the model was not fitted to.
    """

    name: str
    limiter: tuple[str, ...]
    entry: str
    grid: int
    block: int
    rounds: int
    arguments: Callable[[int, int], tuple[Any, ...]]
    fixed: int = 0
    """Bytes that all blocks share, where that is so: the footprint does not grow with the grid."""
    few: tuple[int, int] = (8, 16)
    """Rounds that the virtual GPU counts; those of more follow from the two."""

    @property
    def kernel(self) -> Any:
        return module("limited.cu")[self.entry]


def _f(count: int, dtype: str = "float32") -> Any:
    return put(np.zeros(count, dtype))


def _chain(count: int, step: int) -> Any:
    at = np.arange(count, dtype=np.int64)
    return put(((at + step) % count).astype(np.int32))


FULL = SMS * 8  # blocks of 256 that fill the chip


def limited() -> Iterator[Limited]:
    def out(g: int, b: int, dtype: str = "float32") -> Any:
        return _f(max(4 * g * b, 4096), dtype)

    def case(
        name: str,
        limiter: str,
        entry: str,
        grid: int,
        block: int,
        rounds: int,
        more: Any,
        fixed: int = 0,
        few: tuple[int, int] = (8, 16),
    ) -> Limited:
        return Limited(name, tuple(limiter.split("|")), entry, grid, block, rounds, more, fixed, few)

    yield case(
        "dram_copy", "DRAM", "dram_copy", 2 * FULL, 256, 32, lambda g, n: (_f(g * 1024 * n), _f(g * 1024 * n), n)
    )
    yield case(
        "dram_copy_small",
        "DRAM|latency|launch",
        "dram_copy",
        SMS * 2,
        256,
        2,
        lambda g, n: (_f(g * 1024 * n), _f(g * 1024 * n), n),
    )
    yield case("dram_read", "DRAM", "dram_read", FULL, 256, 64, lambda g, n: (_f(g * 1024 * n), out(g, 256), n))
    yield case("dram_write", "DRAM", "dram_write", FULL, 256, 64, lambda g, n: (_f(g * 1024 * n), n))
    yield case(
        "dram_triad", "DRAM", "dram_triad", 4 * FULL, 256, 64, lambda g, n: (*(_f(g * 256 * n) for _ in range(3)), n)
    )
    yield case("dram_strided", "DRAM", "dram_strided", FULL, 256, 64, lambda g, n: (_f(g * 2048 * n), out(g, 256), n))
    yield case("dram_thin", "latency", "dram_read", SMS, 64, 256, lambda g, n: (_f(g * 256 * n), out(g, 64), n))
    shared_array = 16 << 20
    yield case(
        "l2_read",
        "L2",
        "l2_read",
        FULL,
        256,
        256,
        lambda g, n: (_f(shared_array // 4), out(g, 256), n, shared_array // 16 - 1),
        shared_array,
    )
    yield case(
        "l2_write",
        "L2",
        "l2_write",
        FULL,
        256,
        256,
        lambda g, n: (_f(shared_array // 4), n, shared_array // 16 - 1),
        shared_array,
    )
    yield case("l1_read", "L1|issue", "l1_read", FULL, 256, 2048, lambda g, n: (_f(2048), out(g, 256), n), 8192)
    yield case("l1_read4", "L1", "l1_read4", FULL, 256, 1024, lambda g, n: (_f(2048), out(g, 256), n), 8192)
    yield case("l1_columns", "L1", "l1_columns", FULL, 256, 256, lambda g, n: (_f(2048), out(g, 256), n), 8192)
    for stride, rounds in ((1, 4096), (2, 4096), (8, 1024), (32, 256)):
        yield case(
            f"shared_read_{stride}",
            "shared memory" + ("|issue|integer" if stride == 1 else ""),
            "shared_read",
            SMS * 7,
            256,
            rounds,
            lambda g, n, s=stride: (out(g, 256), n, s),
        )
    yield case("shared_read4", "shared memory", "shared_read4", SMS * 7, 256, 1024, lambda g, n: (out(g, 256), n))
    yield case(
        "shared_write_1",
        "shared memory|issue|integer",
        "shared_write",
        SMS * 7,
        256,
        2048,
        lambda g, n: (out(g, 256), n, 1),
    )
    yield case("shared_write_32", "shared memory", "shared_write", SMS * 7, 256, 256, lambda g, n: (out(g, 256), n, 32))
    yield case("barriers", "latency|barriers", "barriers", FULL, 256, 512, lambda g, n: (out(g, 256), n))
    yield case("barriers_1024", "latency|barriers", "barriers", SMS * 2, 1024, 512, lambda g, n: (out(g, 1024), n))
    yield case("fp32_fma", "FP32|issue", "fp32_fma", FULL, 256, 2048, lambda g, n: (out(g, 256), n, 1.0, 0.5))
    yield case("fp32_add", "FP32|issue", "fp32_add", FULL, 256, 2048, lambda g, n: (out(g, 256), n, 1.0, 0.5))
    yield case("fp64_fma", "FP64", "fp64_fma", FULL, 256, 1024, lambda g, n: (out(g, 256, "float64"), n, 1.0, 0.5))
    yield case(
        "fp64_tail", "FP64", "fp64_fma", SMS * 2 + 1, 1024, 1024, lambda g, n: (out(g, 1024, "float64"), n, 1.0, 0.5)
    )
    yield case("integer_mad", "integer", "integer_mad", FULL, 256, 2048, lambda g, n: (out(g, 256, "int32"), n, 3, 5))
    yield case(
        "integer_logic", "integer", "integer_logic", FULL, 256, 2048, lambda g, n: (out(g, 256, "int32"), n, 3, 5)
    )
    yield case("special", "special functions", "special", FULL, 256, 512, lambda g, n: (out(g, 256), n, 1.0))
    yield case(
        "special_rsqrt", "special functions", "special_rsqrt", FULL, 256, 512, lambda g, n: (out(g, 256), n, 1.0)
    )
    yield case("half2_fma", "FP16|issue", "half2_fma", FULL, 256, 2048, lambda g, n: (out(g, 256, "uint32"), n, 3, 5))
    yield case("fma_chain_thin", "latency", "fma_chain", SMS, 128, 4096, lambda g, n: (out(g, 128), n, 1.0, 0.5))
    yield case("fma_chain_full", "FP32|issue", "fma_chain", FULL, 256, 4096, lambda g, n: (out(g, 256), n, 1.0, 0.5))
    yield case("tensor_f16", "tensor", "tensor_f16", FULL, 256, 512, lambda g, n: (out(g, 256), n, 0))
    yield case("tensor_tf32", "tensor", "tensor_tf32", FULL, 256, 512, lambda g, n: (out(g, 256), n, 0))
    for ways in (1, 2, 8):
        yield case(
            f"divergent_{ways}",
            "FP32|issue|latency",
            "divergent",
            FULL,
            256,
            256,
            lambda g, n, w=ways: (out(g, 256), n, 1.0, w),
        )
    yield case("divergent_thin", "latency", "divergent", SMS, 32, 256, lambda g, n: (out(g, 32), n, 1.0, 4))
    yield case(
        "chase_l2",
        "latency",
        "chase_global",
        SMS,
        32,
        512,
        lambda g, n: (_chain(1 << 20, 8192 + 64), out(g, 32, "int32"), n),
        4 << 20,
    )
    yield case(
        "chase_dram",
        "latency",
        "chase_global",
        SMS,
        32,
        256,
        lambda g, n: (_chain(1 << 26, 270336 + 64), out(g, 32, "int32"), n),
    )
    yield case(
        "chase_l1",
        "latency",
        "chase_l1",
        SMS,
        32,
        1024,
        lambda g, n: (_chain(1024, 32), out(g, 32, "int32"), n),
        4096,
        few=(128, 256),
    )
    yield case(
        "chase_shared", "latency", "chase_shared", SMS, 32, 1024, lambda g, n: (out(g, 32, "int32"), n), few=(128, 256)
    )
    yield case("atomic_one", "atomics", "atomic_one", FULL, 256, 16, lambda g, n: (_f(64, "int32"), n), 32)
    yield case(
        "atomic_spread",
        "atomics|L2",
        "atomic_spread",
        FULL,
        256,
        128,
        lambda g, n: (_f(1 << 20, "int32"), n, (1 << 20) - 1),
        4 << 20,
    )
    yield case(
        "atomic_scattered",
        "atomics|L2",
        "atomic_scattered",
        FULL,
        256,
        64,
        lambda g, n: (_f(1 << 20, "int32"), n, (1 << 20) - 1),
        4 << 20,
    )
    yield case(
        "atomic_shared_1",
        "shared memory|atomics|issue",
        "atomic_shared",
        FULL,
        256,
        512,
        lambda g, n: (out(g, 256, "int32"), n, 1),
    )
    yield case(
        "atomic_shared_32",
        "shared memory|atomics",
        "atomic_shared",
        FULL,
        256,
        128,
        lambda g, n: (out(g, 256, "int32"), n, 32),
    )
    yield case("empty", "launch", "empty", 1, 32, 1, lambda g, n: ())
    yield case("empty_many", "launch", "empty", 100_000, 64, 1, lambda g, n: ())


# -- real kernels at the sizes of real work ---------------------------------------------------------------------------
@dataclass(frozen=True)
class Sized:
    """A kernel at any size; its counts grow with the number of its blocks, and `inner` times as much."""

    name: str
    make: Callable[[int], Case]
    small: int
    large: int
    inner: float = 1.0


def fresh() -> Iterator[Sized]:
    """Kernels that no constant of the prediction was ever looked at with before they were timed."""
    f4, i4 = np.float32, np.int32
    K = 1 << 10

    def simple(
        name: str, arguments: Callable[[int], tuple[Any, ...]], large: int, small: int = 32 * K, block: int = 256
    ) -> Sized:
        def make(n: int) -> Case:
            return Case(name, -(-n // block), block, lambda: arguments(n), _of("real.cu", name))

        return Sized(name, make, small, large)

    def zeros(count: int, dtype: Any = f4) -> Any:
        return put(np.zeros(count, dtype))

    def data(n: int) -> Any:
        return put(_rng().integers(0, 256, n).astype(np.uint8))

    def where(n: int) -> Any:
        return put(_rng().integers(0, n, n).astype(i4))

    yield simple("histogram", lambda n: (data(n), zeros(256, i4), n), 4 * K * K)
    yield simple("gather", lambda n: (zeros(n), where(n), zeros(n), n), 16 * K * K, 256 * K)
    yield simple("particles_aos", lambda n: (zeros(8 * n), n, 0.1), 4 * K * K)
    yield simple("particles_soa", lambda n: (*(zeros(n) for _ in range(6)), n, 0.1), 4 * K * K)
    yield simple("collatz", lambda n: (put(where(n).numpy() % 100_000 + 1), zeros(n, i4), n), K * K)
    yield simple("filter", lambda n: (zeros(n), zeros(n), n), 16 * K * K)
    yield simple("doubles", lambda n: (put(np.linspace(0, 3, n)), zeros(n, np.float64), n), 4 * K * K)
    yield simple("scan", lambda n: (zeros(n, i4), zeros(n, i4)), 16 * K * K, 32 * K, 1024)
    yield simple("weighted_bins", lambda n: (data(n), zeros(256, i4), zeros(256), zeros(1, i4), n), K * K)
    yield simple(
        "halves_and_bytes", lambda n: (put(np.ones(n, np.uint16)), data(n), zeros(n, np.float64), n), 8 * K * K
    )

    def blocks(
        name: str, per_block: int, arguments: Callable[[int], tuple[Any, ...]], block: Any, large: int, small: int = 64
    ) -> Sized:
        return Sized(name, lambda n: Case(name, n, block, lambda: arguments(n), _of("real.cu", name)), small, large)

    yield blocks("softmax_rows", 1000, lambda n: (zeros(1000 * n), zeros(1000 * n), 1000), 256, 16 * K)
    yield blocks("async_copies", 2048, lambda n: (zeros(2048 * n), zeros(2048 * n)), 256, 16 * K)
    yield blocks("bulk_copy", 1024, lambda n: (zeros(1024 * n), zeros(1024 * n)), 1024, 16 * K)
    yield blocks("local_sort", 64, lambda n: (where(1000 * n), zeros(64 * n, i4), 1000 * n), 64, 8 * K)

    def product(n: int) -> Case:
        def halves() -> Any:
            return zeros(n * n, np.float16)

        arguments = lambda: (halves(), halves(), zeros(n * n), n)  # noqa: E731
        return Case("wmma_global", (n // 16, n // 16), 32, arguments, _of("real.cu", "wmma_global"))

    yield Sized("wmma_global", product, 128, 1024, 8.0)
    yield Sized(
        "triton_softmax",
        lambda n: Case(
            "triton_softmax", n, None, lambda: (zeros(1000 * n), zeros(1000 * n), 1000, 1000), cache(_softmax)
        ),
        64,
        16 * K,
    )
