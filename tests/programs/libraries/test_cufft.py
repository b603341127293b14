"""cuFFT against NumPy in float64: lengths of every kind, batches, layouts, in place; and what it refuses."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.programs.conftest import Run

from gridstride.programs.toolchain.wheels import Toolchain

Array = np.ndarray[Any, Any]
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the whole table in one run under the sanitizer
SOURCE = Path(__file__).parent / "cufft_calls.cu"
FORMS: dict[str, tuple[Any, Any]] = {
    "C2C": (np.complex64, np.complex64), "R2C": (np.float32, np.complex64), "C2R": (np.complex64, np.float32),
    "Z2Z": (np.complex128, np.complex128), "D2Z": (np.float64, np.complex128), "Z2D": (np.complex128, np.float64),
}  # fmt: skip
ROUNDING = {"C": 6e-7, "R": 6e-7, "Z": 2e-15, "D": 2e-15}
"""Of the largest element of the result, for the types' first letters."""


@dataclass(frozen=True)
class Layout:
    """The advanced layout of one side: the extents that hold the elements, and their steps."""

    embed: tuple[int, ...]
    stride: int
    distance: int

    def words(self) -> str:
        return " ".join(map(str, (*self.embed, self.stride, self.distance)))

    def index(self, shape: tuple[int, ...]) -> Array:
        """Where each element of a batch of that shape lies."""
        batch, *extents = np.indices(shape)
        place = extents[0]
        for extent, embed in zip(extents[1:], self.embed[1:], strict=True):
            place = place * embed + extent
        return np.asarray(batch * self.distance + place * self.stride)


@dataclass
class Case:
    """One transform: the line that the program reads, what it is given, and what must lie in the output then."""

    line: str
    given: Array
    held: Array
    expected: Array


def _random(dtype: Any, shape: tuple[int, ...]) -> Array:
    draw = np.random.default_rng(sum(shape) + len(shape))
    values = draw.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        values = values + 1j * draw.standard_normal(shape)
    return np.asarray(values.astype(dtype))


def _transformed(kind: str, direction: str, x: Array, n: tuple[int, ...]) -> Array:
    """By NumPy, along all axes but the first; the inverse is not divided by anything."""
    axes = tuple(range(1, len(n) + 1))
    wide = x.astype(np.complex128 if np.iscomplexobj(x) else np.float64)
    if kind in ("R2C", "D2Z"):
        return np.asarray(np.fft.rfftn(wide, axes=axes))
    if kind in ("C2R", "Z2D"):
        return np.asarray(np.fft.irfftn(wide, s=n, axes=axes) * prod(n))
    if direction == "forward":
        return np.asarray(np.fft.fftn(wide, axes=axes))
    return np.asarray(np.fft.ifftn(wide, axes=axes) * prod(n))


def _sides(kind: str, n: tuple[int, ...], batch: int) -> tuple[Array, tuple[int, ...]]:
    """The input, and the output's shape. To reals only what a transform of reals can be is defined."""
    half = (batch, *n[:-1], n[-1] // 2 + 1)
    if kind in ("C2R", "Z2D"):
        real = _random(FORMS[kind][1], (batch, *n))
        return _transformed("R2C", "forward", real, n).astype(FORMS[kind][0]), (batch, *n)
    return _random(FORMS[kind][0], (batch, *n)), half if kind in ("R2C", "D2Z") else (batch, *n)


def case(
    kind: str, *n: int, batch: int = 1, direction: str = "forward", place: str = "apart",
    layout: tuple[Layout, Layout] | None = None,
) -> Case:  # fmt: skip
    """Elements between those of a layout hold 7 and stay."""
    if kind in ("C2R", "Z2D"):
        direction = "inverse"
    x, out_shape = _sides(kind, n, batch)
    line = f"{kind} {direction} {place} {len(n)} {' '.join(map(str, n))} {batch}"
    if layout is None:
        return Case(line, x, np.full(out_shape, 7, FORMS[kind][1]), _transformed(kind, direction, x, n))
    come, go = layout[0].index(x.shape), layout[1].index(out_shape)
    given, held = np.full(come.max() + 1, 7, FORMS[kind][0]), np.full(go.max() + 1, 7, FORMS[kind][1])
    given[come] = x
    result = _transformed(kind, direction, given[come], n)  # windows may overlap
    expected = held.astype(result.dtype)
    expected[go] = result
    return Case(f"{line} {layout[0].words()} {layout[1].words()}", given, held, expected)


def in_place(kind: str, *n: int, batch: int = 1) -> Case:
    """Of reals, whose rows are as long as those of their transforms then."""
    apart = case(kind, *n, batch=batch, place="same")
    whole, half = n[-1], n[-1] // 2 + 1
    real = FORMS[kind][0] if kind in ("R2C", "D2Z") else FORMS[kind][1]
    rows = np.full((*apart.given.shape[:-1], 2 * half), 7, real)
    if kind in ("R2C", "D2Z"):
        rows[..., :whole] = apart.given
        return Case(apart.line, rows, apart.held, apart.expected)
    expected = np.full(rows.shape, np.nan)  # the padding may be anything
    expected[..., :whole] = apart.expected
    return Case(apart.line, apart.given, rows, expected)


LENGTHS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 16, 31, 49, 64, 100, 125, 127, 210, 243, 256, 343, 360, 512, 1000, 1021,
           1024, 2048, 2401, 3000, 4096)  # fmt: skip
COLUMNS = Layout((12,), 5, 1)
CASES = [
    *(case("C2C", n, batch=3) for n in LENGTHS),
    *(case("Z2Z", n, batch=2, direction="inverse") for n in LENGTHS),
    *(case(kind, n, batch=2) for kind in ("R2C", "C2R", "D2Z", "Z2D") for n in (1, 2, 7, 10, 13, 64, 100, 343, 4096)),
    *(case("C2C", n) for n in (4099, 4704, 6000, 8192, 16807, 1 << 17)),  # two passes, and by convolution
    *(case(kind, 6000) for kind in ("Z2Z", "R2C", "C2R", "D2Z", "Z2D")),
    case("C2C", 5003, batch=2, direction="inverse"),
    case("C2C", 1 << 21),  # three passes
    case("C2C", 100, batch=1000),
    case("C2C", 1, batch=700),
    case("C2C", 8192, batch=3, place="same"),
    case("Z2Z", 360, batch=5, place="same", direction="inverse"),
    case("C2C", 97, batch=3, place="same"),
    *(in_place(kind, n, batch=3) for kind in ("R2C", "C2R", "D2Z", "Z2D") for n in (1, 8, 15, 22, 100, 6000)),
    *(case(kind, 12, 20) for kind in FORMS),
    *(case(kind, 11, 9, batch=3) for kind in FORMS),
    *(case(kind, 4, 6, 10) for kind in FORMS),
    *(case(kind, 2, 3, 7, batch=2) for kind in ("C2C", "D2Z", "C2R")),
    case("C2C", 2100, 3),  # two passes along columns
    case("R2C", 2048, 6),
    *(in_place(kind, 6, 10, batch=2) for kind in ("R2C", "Z2D")),
    case("C2C", 30, 14, place="same", direction="inverse"),
    case("C2C", 12, batch=5, layout=(COLUMNS, COLUMNS)),
    case("C2C", 12, batch=5, layout=(COLUMNS, Layout((12,), 1, 13))),
    case("Z2Z", 13, batch=4, layout=(Layout((13,), 2, 40), Layout((13,), 3, 41))),
    case("C2C", 2500, batch=2, layout=(Layout((2500,), 2, 1), Layout((2500,), 2, 1))),
    case("R2C", 12, batch=3, layout=(Layout((12,), 2, 25), Layout((7,), 3, 22))),
    case("C2R", 12, batch=3, layout=(Layout((7,), 3, 22), Layout((12,), 2, 25))),
    case("R2C", 8, batch=5, layout=(Layout((8,), 1, 3), Layout((5,), 1, 5))),  # windows that overlap
    case("Z2D", 5, 6, batch=2, layout=(Layout((5, 5), 2, 60), Layout((7, 9), 1, 64))),
    case("C2C", 4, 5, 6, batch=2, layout=(Layout((4, 6, 7), 1, 170), Layout((5, 5, 8), 2, 401))),
    case("C2C", 8192, batch=2, place="given"),
    case("Z2D", 12, 22, place="given"),
]  # fmt: skip


@pytest.fixture(scope="module")
def results(tools: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[str], Path, str]:
    """All transforms in one run under the sanitizer: what each call said, the folder of results, stderr."""
    folder = tmp_path_factory.mktemp("cufft")
    for number, each in enumerate(CASES):
        (folder / f"{number}_in").write_bytes(np.ascontiguousarray(each.given).tobytes())
        (folder / f"{number}_out").write_bytes(np.ascontiguousarray(each.held).tobytes())
    command = [sys.executable, "-m", "gridstride", "run", "--sanitize", str(SOURCE), "--", str(folder)]
    lines = "".join(f"{each.line}\n" for each in CASES)
    done = subprocess.run(command, capture_output=True, text=True, input=lines, timeout=600)
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), folder, done.stderr


@pytest.mark.parametrize("number", range(len(CASES)), ids=[each.line.replace(" ", "-") for each in CASES])
def test_it_equals_numpy(number: int, results: tuple[list[str], Path, str]) -> None:
    each, (said, folder, _) = CASES[number], results
    assert said[number] == "0"
    got = np.frombuffer((folder / f"{number}_result").read_bytes(), each.held.dtype)
    expected = each.expected.ravel()
    meant = ~np.isnan(expected)
    bound = ROUNDING[each.line[0]] * np.sqrt(np.log2(each.given.size) + 1) * np.abs(expected[meant]).max()
    np.testing.assert_allclose(got[meant], expected[meant], rtol=0, atol=bound)


def test_its_kernels_race_nowhere_read_nothing_unset_and_leave_no_memory(results: tuple[list[str], Path, str]) -> None:
    assert "gridstride:" not in results[2]


_ORDERED = r"""
#include <cufft.h>
#include <cstdio>
__global__ void fill(cufftComplex* x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) x[i] = {1, 0};
}
int main() {
  const int n = 8192;
  cufftComplex *x, first;
  cudaMalloc(&x, n * sizeof(cufftComplex));
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  cufftHandle plan;
  cufftPlan1d(&plan, n, CUFFT_C2C, 1);
  cufftSetStream(plan, stream);
#ifdef GRAPH
  cudaGraph_t graph;
  cudaGraphExec_t run;
  cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
#endif
  fill<<<n / 256, 256, 0, stream>>>(x, n);
  cufftExecC2C(plan, x, x, CUFFT_FORWARD);
#ifdef GRAPH
  cudaStreamEndCapture(stream, &graph);
  cudaGraphInstantiate(&run, graph, 0);
  cudaGraphLaunch(run, stream);
#endif
  cudaStreamSynchronize(stream);
  cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost);
  printf("%g\n", first.x);
  cufftDestroy(plan);
  cudaStreamDestroy(stream);
  cudaFree(x);
  return cufftExecC2C(plan, x, x, CUFFT_FORWARD);
}
"""


@pytest.mark.parametrize("words", [(), ("-D", "GRAPH", "-lcufft")])
def test_calls_are_work_of_the_plans_stream(program: Run, words: tuple[str, ...]) -> None:
    done = program(_ORDERED, *words, "--predict", "--json")
    told = json.loads(done.stdout)
    assert done.stderr.splitlines()[-1] == "8192"
    kernels = [each for each in told["timeline"]["operations"] if each["kind"] == "kernel"]
    assert [each["name"].split("::")[-1].split()[-1] for each in kernels] == ["fill", "fft_pass", "fft_pass"]
    assert len({each["stream"] for each in kernels}) == 1


def test_a_destroyed_plan_is_a_result_and_no_crash(program: Run) -> None:
    assert program(_ORDERED).returncode == 1  # CUFFT_INVALID_PLAN


def test_it_says_whose_it_is(program: Run) -> None:
    assert "cuFFT is GridStride's own here" in program(_ORDERED).stderr


def test_a_program_without_it_is_not_told_of_it(program: Run) -> None:
    assert program("int main() { return 0; }").stderr.count("cuFFT") == 0


def test_what_it_lacks_is_refused_by_name(program: Run) -> None:
    done = program("#include <cufft.h>\nint main() { return cufftXtExec(0, 0, 0, 1); }\n")
    assert done.returncode == 1
    assert "cufftXtExec is not among what GridStride's own cuFFT has" in done.stderr


def test_an_array_that_is_too_short_is_named_with_the_kernel_that_reads_it(program: Run) -> None:
    text = _ORDERED.replace("cudaMalloc(&x, n *", "cudaMalloc(&x, n / 2 *").replace("fill<<<n / 256", "fill<<<n / 512")
    assert "out of bounds in kernel gs_fft::fft_pass" in program(text).stderr


_REFUSALS = r"""
#include <cufft.h>
#include <cstdio>
#define GIVES(expected, call) \
  if (const cufftResult result = call; result != CUFFT_##expected) printf("%d, not " #expected ": " #call "\n", result)
int main() {
  cufftHandle plan, other, bare;
  int n[] = {8, 8, 8, 8}, version = 0;
  size_t bytes = 0;
  cufftComplex* x;
  cudaMalloc(&x, 8192 * sizeof(cufftComplex));
  GIVES(INVALID_SIZE, cufftPlan1d(&plan, 0, CUFFT_C2C, 1));
  GIVES(INVALID_SIZE, cufftPlan1d(&plan, 8, CUFFT_C2C, 0));
  GIVES(INVALID_SIZE, cufftPlan2d(&plan, 8, -3, CUFFT_C2C));
  GIVES(INVALID_VALUE, cufftPlan1d(&plan, 8, (cufftType)1, 1));
  GIVES(INVALID_VALUE, cufftPlan1d(nullptr, 8, CUFFT_C2C, 1));
  GIVES(INVALID_VALUE, cufftPlanMany(&plan, 4, n, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2C, 1));
  GIVES(INVALID_VALUE, cufftPlanMany(&plan, 1, nullptr, nullptr, 1, 0, nullptr, 1, 0, CUFFT_C2C, 1));
  GIVES(INVALID_VALUE, cufftPlanMany(&plan, 1, n, n, 0, 8, n, 1, 8, CUFFT_C2C, 1));
  GIVES(INVALID_PLAN, cufftExecC2C(plan, x, x, CUFFT_FORWARD));
  GIVES(SUCCESS, cufftCreate(&other));
  GIVES(INVALID_PLAN, cufftExecC2C(other, x, x, CUFFT_FORWARD));
  GIVES(INVALID_VALUE, cufftMakePlan1d(other, 8, CUFFT_C2C, 1, nullptr));
  GIVES(SUCCESS, cufftMakePlan1d(other, 8, CUFFT_C2C, 1, &bytes));
  GIVES(INVALID_PLAN, cufftMakePlan1d(other, 8, CUFFT_C2C, 1, &bytes));
  GIVES(INVALID_VALUE, cufftExecC2C(other, x, x, 0));
  GIVES(INVALID_VALUE, cufftExecC2C(other, nullptr, x, CUFFT_FORWARD));
  GIVES(INVALID_VALUE, cufftExecR2C(other, (float*)x, x));
  GIVES(INVALID_PLAN, cufftExecC2C(other + 7, x, x, CUFFT_FORWARD));
  GIVES(SUCCESS, cufftDestroy(other));
  GIVES(INVALID_PLAN, cufftDestroy(other));
  GIVES(SUCCESS, cufftCreate(&bare));
  GIVES(SUCCESS, cufftSetAutoAllocation(bare, 0));
  GIVES(SUCCESS, cufftMakePlan1d(bare, 8192, CUFFT_C2C, 1, &bytes));
  GIVES(NO_WORKSPACE, cufftExecC2C(bare, x, x, CUFFT_FORWARD));
  GIVES(SUCCESS, cufftDestroy(bare));
  GIVES(SUCCESS, cufftGetVersion(&version));
  printf("%zu bytes, version %d\n", bytes, version);
  cudaFree(x);
}
"""


def test_what_it_cannot_do_is_the_result_that_the_documentation_names(program: Run) -> None:
    assert program(_REFUSALS).stdout.splitlines() == ["65536 bytes, version 12000"]


def test_a_plan_without_memory_says_so_and_is_none(program: Run) -> None:
    text = """
#include <cufft.h>
int main() {
  cufftHandle plan;
  const int made = cufftPlan1d(&plan, 8192, CUFFT_C2C, 1);
  return 10 * made + cufftDestroy(plan);
}
"""
    assert program(text, "--fail", "allocation=1").returncode == 21  # CUFFT_ALLOC_FAILED, CUFFT_INVALID_PLAN
