"""The speed of the virtual GPU beside its peers: `python bench/virtual_gpu.py [row …]`; about three minutes.

Peers (PoCL, Numba's CUDA simulator, Triton's interpreter) are measured in the same run on the same core, where
`make bench` could install them; one that is missing is named. Data are random, results are checked against NumPy,
figures are medians. One-core comparisons use processor time, which on an idle machine is the time on the clock; both
are in the JSON.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
from common import (
    CORES,
    PEERS,
    ROOT,
    NotMeasured,
    Row,
    Times,
    machine,
    on_cores,
    publish,
    run_script,
    time_calls,
    time_command,
)

import gridstride as gs

SOURCE = """
extern "C" __global__ void tiled(const float* A, const float* B, float* C, int N)
{
    __shared__ float a[16][16], b[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int t = 0; t < N / 16; ++t) {
        a[y][x] = A[row * N + t * 16 + x];
        b[y][x] = B[(t * 16 + y) * N + column];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    C[row * N + column] = sum;
}

extern "C" __global__ void saxpy(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void empty() {}
"""
SGEMM = 512
ROUNDS = 3
"""Times that we and a peer take turns, so that a change in the machine's mood meets both."""


@contextmanager
def gpu(cores: int) -> Iterator[gs.Module]:
    """The kernels above on a virtual GPU with so many workers, on so many cores."""
    with on_cores(cores), gs.use(gs.VirtualGPU(workers=cores)):
        yield gs.cuda(SOURCE)


def gflops(n: int, seconds: float) -> float:
    return 2 * n**3 / seconds / 1e9


# -- sgemm ------------------------------------------------------------------------------------------------------------
def sgemm(cores: int, *, n: int = SGEMM, repeats: int = 25) -> Times:
    """Launches of the tiled multiply on device arrays; the result is checked.

    NumPy's own threads go on spinning for a while after a product: the launches before the timed ones outlast that.
    """
    rng = np.random.default_rng()
    a, b = rng.random((n, n), np.float32), rng.random((n, n), np.float32)
    with gpu(cores) as module:
        arrays = [gs.to_device(m) for m in (a, b, np.zeros_like(a))]
        launch = module["tiled"][(n // 16, n // 16), (16, 16)]
        times = time_calls(lambda: launch(*arrays, n), repeats=repeats, warm_up=8)
        np.testing.assert_allclose(arrays[2].numpy(), a @ b, rtol=1e-4)
    return times


def sgemm_rows() -> list[Row]:
    one, two, missing = Times((), ()), Times((), ()), ""
    pocl: dict[str, Times] = {}
    for _ in range(ROUNDS):
        one += sgemm(1)
        if len(CORES) > 1:
            two += sgemm(2)
        try:
            for peer in run_script("peers/pocl_sgemm.py", SGEMM, 5, np.random.randint(2**31), python=PEERS):
                pocl[peer["peer"]] = pocl.get(peer["peer"], Times((), ())) + _times(peer)
        except NotMeasured as reason:
            missing = f"not measured: {reason}"
    speed = gflops(SGEMM, one.cpu_median)
    rows = [Row(f"sgemm {SGEMM}³, one core", f"{speed:.1f} GFLOP/s", "about 10", speed >= 9, detail=_detail(one))]
    rows += [_against(name, one, times) for name, times in pocl.items()] or [_unmeasured("PoCL", "5x", missing)]
    return [*rows, _against_numba(one), _two_cores(one, two)]


def _times(peer: dict[str, Any]) -> Times:
    return Times(tuple(peer["seconds"]), tuple(peer["cpu_seconds"]))


def _detail(times: Times) -> dict[str, Any]:
    return {"seconds": times.median, "cpu_seconds": times.cpu_median, "samples": len(times.wall)}


def _unmeasured(peer: str, target: str, why: str) -> Row:
    return Row(f"  against {peer}", "-", target, None, note=why)


def _against(name: str, ours: Times, theirs: Times) -> Row:
    ratio, clock = theirs.cpu_median / ours.cpu_median, theirs.median / ours.median
    figure = f"{ratio:.1f}x ({gflops(SGEMM, theirs.cpu_median):.2f} GFLOP/s)"
    return Row(f"  against {name}", figure, "5x", ratio >= 5, detail={**_detail(theirs), "ratio_on_the_clock": clock})


def _against_numba(ours: Times) -> Row:
    n = 32
    try:
        peer = run_script("peers/numba_sgemm.py", n, 3, np.random.randint(2**31), python=PEERS)
    except NotMeasured as reason:
        return _unmeasured("Numba's simulator", "100,000x", f"not measured: {reason}")
    times = _times(peer)
    theirs = gflops(n, times.median)  # on the clock: its threads sleep while they wait for one another
    ratio = gflops(SGEMM, ours.median) / theirs
    detail = {**_detail(times), "n": n, "peer": peer["peer"]}
    figure = f"{ratio:,.0f}x ({theirs:.6f} GFLOP/s at {n}³)"
    return Row("  against Numba's simulator", figure, "100,000x", ratio >= 100_000, detail=detail)


def _two_cores(one: Times, two: Times) -> Row:
    name = "  two cores against one"
    if not two.wall:
        return Row(name, "-", "1.8x", None, note="not measured: this process may use one core only")
    ratio = one.median / two.median
    figure = f"{ratio:.2f}x ({gflops(SGEMM, two.median):.1f} GFLOP/s)"
    return Row(name, figure, "1.8x", ratio >= 1.8, detail={**_detail(two), "one_core_seconds": one.median})


# -- saxpy ------------------------------------------------------------------------------------------------------------
def saxpy_rows() -> list[Row]:
    rng = np.random.default_rng()
    x, y = rng.random(1 << 26, np.float32), rng.random(1 << 26, np.float32)
    return [_saxpy_row(x, y, cores) for cores in (1, 2) if cores <= len(CORES)]


def _saxpy_row(x: np.ndarray, y: np.ndarray, cores: int) -> Row:
    """12 bytes an element: x and y are read, y is written. The yardstick is NumPy's add, which moves as many."""
    n, ours, add, both = x.size, Times((), ()), Times((), ()), Times((), ())
    for _ in range(ROUNDS):
        ours += _saxpy(x, y, cores)
        with on_cores(cores):
            add += time_calls(_numpy(lambda a, b, out: np.add(a, b, out=out), x, y, cores), repeats=4)
            both += time_calls(_numpy(_multiply_add, x, y, cores), repeats=4)
    speed = 12 * n / ours.median / 1e9
    peers = {"add": 12 * n / add.median / 1e9, "multiply, then add (20 bytes)": 20 * n / both.median / 1e9}
    figure = f"{speed:.1f} GB/s, {speed / peers['add']:.2f} of NumPy's {peers['add']:.1f}"
    detail = {
        **_detail(ours),
        "bytes": 12 * n,
        "numpy_gb_per_s": peers,
        "speed_up_over_multiply_then_add": both.median / ours.median,
    }
    return Row(f"saxpy 2^26, {_count(cores)}", figure, "0.5 of NumPy", speed >= peers["add"] / 2, detail=detail)


def _count(cores: int) -> str:
    return "one core" if cores == 1 else f"{cores} cores"


def _saxpy(x: np.ndarray, y: np.ndarray, cores: int) -> Times:
    n, a = x.size, 1.25
    with gpu(cores) as module:
        device_x, device_y = gs.to_device(x), gs.to_device(y)
        launch = module["saxpy"][-(-n // 256), 256]
        launch(n, a, device_x, device_y)
        np.testing.assert_allclose(device_y.numpy(), np.float32(a) * x + y, rtol=1e-6)
        return time_calls(lambda: launch(n, 0.0, device_x, device_y), repeats=4)


def _multiply_add(x: np.ndarray, y: np.ndarray, out: np.ndarray) -> None:
    np.multiply(x, np.float32(1.25), out=out)
    np.add(out, y, out=out)


def _numpy(work: Callable[..., Any], x: np.ndarray, y: np.ndarray, cores: int) -> Callable[[], None]:
    """The same work on so many threads, each with its part of preallocated arrays."""
    out = np.zeros_like(x)
    parts = list(zip(*(np.array_split(each, cores) for each in (x, y, out)), strict=True))

    def run() -> None:
        threads = [Thread(target=work, args=part) for part in parts[1:]]
        for thread in threads:
            thread.start()
        work(*parts[0])
        for thread in threads:
            thread.join()

    return run


# -- compile ----------------------------------------------------------------------------------------------------------
def compile_rows() -> list[Row]:
    """gs.cuda(source) to the end of the first launch of a 200-line kernel, in fresh processes."""
    with tempfile.TemporaryDirectory(prefix="gridstride-bench-") as cache:
        cold = [_compile_in_a_process("later", Path(cache) / str(n)) for n in range(ROUNDS)]
        kept = [_compile_in_a_process("later", Path(cache) / "0") for _ in range(2 * ROUNDS)]
        first = [_compile_in_a_process("first", Path(cache) / "0") for _ in range(ROUNDS)]
    note = "the first kernel of a process also loads LLVM and the runtime: {:.0f} ms, imports {:.0f} ms before it"
    return [
        _compile_row("compile 200 lines, cold", cold, 500, ("nvrtc", "parse", "lower", "llvm", "load")),
        _compile_row("  from cache", kept, 5, ("load",), note.format(_mid(first, "cpu"), _mid(first, "imports"))),
    ]


def _mid(runs: list[dict[str, float]], part: str) -> float:
    return statistics.median(run.get(part, 0.0) for run in runs)


def _compile_row(name: str, runs: list[dict[str, float]], limit: float, parts: tuple[str, ...], note: str = "") -> Row:
    """Processor time: the work is single-threaded, and other programs do not lengthen it."""
    ms = _mid(runs, "cpu")
    told = ", ".join(f"{part} {_mid(runs, part):.{0 if ms > 50 else 1}f}" for part in parts)
    detail = {part: _mid(runs, part) for part in ("cpu", "total", *parts)}
    return Row(name, f"{ms:.{0 if ms > 50 else 1}f} ms ({told})", f"{limit} ms", ms <= limit, note, detail)


def _compile_in_a_process(when: str, cache: Path) -> dict[str, float]:
    times: dict[str, float] = run_script("parts/compile_attention.py", when, GRIDSTRIDE_CACHE=str(cache))
    return times


# -- launch, start-up, observed ---------------------------------------------------------------------------------------
def launch_rows() -> list[Row]:
    with gpu(1) as module:
        empty = module["empty"]
        times = time_calls(lambda: empty[1, 32](), repeats=3000, warm_up=100)
    us = 1e6 * times.median
    return [Row("launch of an empty kernel, warm", f"{us:.1f} µs", "50 µs", us <= 50, detail=_detail(times))]


def start_rows() -> list[Row]:
    times = time_command([sys.executable, "-m", "gridstride", "--help"], repeats=15)
    figure = f"{times.median:.3f} s"
    return [Row("gridstride --help", figure, "0.2 s", times.median <= 0.2, detail=_detail(times))]


def observed_rows() -> list[Row]:
    """256 blocks, the most of which every one is counted: larger grids are sampled and cost less."""
    n = 256
    rng = np.random.default_rng()
    with gpu(1) as module:
        arrays = [gs.to_device(rng.random((n, n), np.float32)) for _ in range(3)]
        shape = (n // 16, n // 16), (16, 16)
        fast, observed = module["tiled"][shape], module["tiled"].observe(*shape)
        fast_times = observed_times = Times((), ())
        for _ in range(ROUNDS):
            fast_times += time_calls(lambda: fast(*arrays, n), repeats=5)
            observed_times += time_calls(lambda: observed(*arrays, n), repeats=5)
    ratio = observed_times.cpu_median / fast_times.cpu_median
    detail = {**_detail(observed_times), "fast_cpu_seconds": fast_times.cpu_median}
    return [Row("observed build against fast build", f"{ratio:.1f}x", "within 8x", ratio <= 8, detail=detail)]


# -- Triton -----------------------------------------------------------------------------------------------------------
def triton_rows(*, n: int = 512) -> list[Row]:
    """The same Triton functions as PTX here and in Triton's interpreter, taking turns on one core."""
    ours: dict[str, Times] = {}
    theirs: dict[str, Times] = {}
    try:
        with tempfile.TemporaryDirectory(prefix="gridstride-bench-") as cache:
            for _ in range(ROUNDS):
                version = _triton_times("gridstride", n, 5, ours, cache)
                _triton_times("interpreter", n, 1, theirs, cache)
    except NotMeasured as reason:
        return [Row("Triton kernel against its interpreter", "-", "40x", note=f"not measured: {reason}")]
    return [_triton_row(f"{version} {name}, n = {n}", ours[name], theirs[name]) for name in ours]


def _triton_times(where: str, n: int, repeats: int, into: dict[str, Times], cache: str) -> str:
    """Adds the times of each kernel; the version of Triton."""
    path = {"PYTHONPATH": str(ROOT / "src"), "GRIDSTRIDE_CACHE": cache}
    seed = np.random.randint(2**31)
    told = run_script("peers/triton_kernels.py", where, n, repeats, seed, python=PEERS, **path)
    for name, each in told["kernels"].items():
        into[name] = into.get(name, Times((), ())) + _times(each)
    return str(told["peer"])


def _triton_row(name: str, ours: Times, theirs: Times) -> Row:
    ratio = theirs.cpu_median / ours.cpu_median
    figure = f"{ratio:.0f}x ({1e3 * ours.cpu_median:.1f} ms, {1e3 * theirs.cpu_median:.0f} in the interpreter)"
    detail = {**_detail(ours), "interpreter": _detail(theirs), "ratio_on_the_clock": theirs.median / ours.median}
    return Row(name, figure, "40x", ratio >= 40, detail=detail)


# -- large problems ---------------------------------------------------------------------------------------------------
LARGE, MANY, SECONDS = 2048, 1 << 26, 10.0
"""Side of a square matmul of halves, elements of a reduction, and how long "seconds, not minutes" may be."""


def large_rows() -> list[Row]:
    """A matmul on tensor cores by wgmma with TMA and by mma.sync with cp.async, and a reduction, on all cores."""
    sys.path.insert(0, str(ROOT / "tests/virtual/cases"))
    rng = np.random.default_rng()
    a, b = (rng.standard_normal((LARGE, LARGE)).astype(np.float16) for _ in range(2))
    want = a.astype(np.float32) @ b.astype(np.float32).T
    with gs.use(gs.VirtualGPU()):
        rows = [_matmul_row(name, launch, want) for name, launch in (("wgmma", _wgmma(a, b)), ("mma.sync", _mma(a, b)))]
        return [*rows, _reduction_row(rng.random(MANY, np.float32))]


Product = tuple[Callable[[], None], gs.DeviceArray]


def _wgmma(a: np.ndarray, b: np.ndarray) -> Product:
    import warpgroup_kernels as kernels

    kernel = gs.cuda(kernels.pipelined(kernels.HALF))["pipelined"]
    maps = [gs.tensor_map(gs.to_device(x), (128, kernels.ROW // 2), swizzle=128) for x in (a, b)]
    c = gs.empty((LARGE, LARGE), np.float32)
    grid = LARGE // kernels.BN, LARGE // kernels.BM
    launch = kernel[grid, 384, kernels.STAGES * kernels.STAGE_BYTES]
    return lambda: launch(*maps, c, LARGE, LARGE), c


def _mma(a: np.ndarray, b: np.ndarray) -> Product:
    import suite

    kernel = suite.compiled(suite.text_of("gemm_mma.cu", SPLIT=0))["gemm"]
    c, given, none = gs.empty((LARGE, LARGE), np.float32), [gs.to_device(x) for x in (a, b)], gs.empty(1, np.int32)
    launch = kernel[(LARGE // 64, LARGE // 64), 128]
    return lambda: launch(*given, c, none, LARGE, LARGE, LARGE), c


def _matmul_row(name: str, product: Product, want: np.ndarray) -> Row:
    launch, c = product
    times = time_calls(launch, repeats=3, warm_up=1)
    np.testing.assert_allclose(c.numpy(), want, atol=1e-2)
    figure = f"{times.median:.2f} s, {gflops(LARGE, times.median):.1f} GFLOP/s"
    met = times.median <= SECONDS
    return Row(f"f16 matmul {LARGE}³, {name}", figure, "seconds, not minutes", met, detail=_detail(times))


REDUCTION = """
extern "C" __global__ void sum(const float4 *x, size_t quads, float *total)
{
    __shared__ float part[8];
    float4 own = {};
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
        const float4 v = x[i];
        own.x += v.x; own.y += v.y; own.z += v.z; own.w += v.w;
    }
    float v = own.x + own.y + own.z + own.w;
    for (int apart = 16; apart; apart /= 2) v += __shfl_xor_sync(~0u, v, apart);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        v = 0;
        for (int w = 0; w < 8; ++w) v += part[w];
        atomicAdd(total, v);
    }
}
"""


def _reduction_row(x: np.ndarray) -> Row:
    given = gs.to_device(x.reshape(-1, 4))
    launch = gs.cuda(REDUCTION)["sum"][1056, 256]
    total = np.zeros(1, np.float32)
    launch(given, x.size // 4, total)
    np.testing.assert_allclose(total[0], x.sum(dtype=np.float64), rtol=1e-5)
    times = time_calls(lambda: launch(given, x.size // 4, total), repeats=5)
    figure = f"{times.median:.3f} s, {4 * x.size / times.median / 1e9:.1f} GB/s"
    return Row("sum of 2^26 floats", figure, "seconds, not minutes", times.median <= SECONDS, detail=_detail(times))


ROWS = {
    "sgemm": sgemm_rows, "saxpy": saxpy_rows, "triton": triton_rows, "compile": compile_rows, "launch": launch_rows,
    "observed": observed_rows, "start": start_rows, "large": large_rows,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"of {', '.join(ROWS)}; all unless given")
    names = parser.parse_args().rows
    if unknown := [name for name in names if name not in ROWS]:
        parser.error(f"no row is called {unknown[0]!r}; there are: {', '.join(ROWS)}")
    started = machine()
    rows: list[Row] = []
    for name in names or ROWS:
        print(f"measuring {name} …", file=sys.stderr)
        rows += ROWS[name]()
    publish("virtual_gpu", rows, started)


if __name__ == "__main__":
    main()
