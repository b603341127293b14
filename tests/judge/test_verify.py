"""What the judge finds in a kernel that does more, less or something else than it should."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import gridstride as gs
from gridstride.judge.cases.case_list import all_cases, public_cases
from gridstride.judge.execution.runnable import RefusedError, Runnable, build
from gridstride.judge.header import parse_kernel
from gridstride.judge.problem import Case, Problem, ProblemError, array, size
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.verify import Verification, verify
from gridstride.virtual.findings.finding import KernelFault, KernelFinding

Runs = Callable[[Callable[..., None]], Runnable]


def right(x: np.ndarray, y: np.ndarray, n: int) -> None:
    y[:] = 2 * x


@pytest.fixture
def judge(doubling: Problem, runs: Runs) -> Callable[..., Verification]:
    def judge(body: Callable[..., None], **change: Any) -> Verification:
        problem = replace(doubling, **change)
        return verify(problem, runs(body), prepare(problem, public_cases(problem)))

    return judge


def test_a_right_kernel_passes_every_case(doubling: Problem, judge: Callable[..., Verification]) -> None:
    result = judge(right)
    assert result.findings == ()
    assert result.cases == len(public_cases(doubling))
    assert result.max_error is not None
    assert result.max_error < 1e-6


def test_progress_names_each_case(doubling: Problem, runs: Runs) -> None:
    said: list[str] = []
    verify(doubling, runs(right), prepare(doubling, public_cases(doubling)), progress=said.append)
    assert said[0] == "n=8, normal data"
    assert len(said) == len(public_cases(doubling))


def test_launches_that_all_end_and_take_too_long_end_the_verdict(doubling: Problem, runs: Runs) -> None:
    prepared = prepare(doubling, public_cases(doubling))
    late = verify(doubling, runs(right), prepared, seconds=-1)
    assert [found.kind for found in late.findings] == ["timeout"]
    assert f"0 of {len(prepared)} cases" in late.findings[0].message
    assert "GRIDSTRIDE_TIME_LIMIT" in late.findings[0].message
    assert verify(doubling, runs(right), prepared, seconds=3600).findings == ()


@pytest.mark.parametrize(("size", "kinds"), [(100, ["timeout"]), (1000, [])])
def test_a_launch_that_does_not_end_says_nothing_beyond_the_sizes_that_all_are_run_at(
    doubling: Problem, runs: Runs, size: int, kinds: list[str]
) -> None:
    def slow(x: np.ndarray, y: np.ndarray, n: int) -> None:
        right(x, y, n)
        if n == size:
            raise KernelFault((KernelFinding("timeout", "it took its time", "k"),))

    problem = replace(doubling, largest={"n": 500}, widest={"n": 600}, timed={"n": 500})
    prepared = prepare(problem, [Case({"n": 8}, "normal", 1), Case({"n": size}, "normal", 1)])
    assert [found.kind for found in verify(problem, runs(slow), prepared).findings] == kinds


def test_elements_left_alone_are_named(judge: Callable[..., Verification]) -> None:
    def half(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[: n // 2] = 2 * x[: n // 2]

    (finding,) = judge(half).findings
    assert (finding.kind, finding.pattern) == ("wrong_result", "never_written")
    assert "elements 4 to 7 (the last 4 of 8) were never written" in finding.message
    assert "grid 1, block 32; n=8, normal data" in finding.message


PITCHED = """// block: 32 8
// grid: ceil(columns/32) ceil(rows/8)
__global__ void twice(const float* x, float* y, int rows, int columns, int pitch, const float* weights)
{
    const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
    if (r < rows && c < LIMIT) y[r * STRIDE + c] = 2 * x[r * pitch + c];
}"""


@pytest.mark.parametrize(
    ("limit", "stride", "kinds"),
    [("columns", "pitch", set()), ("columns", "columns", {"wrong_result"}), ("pitch", "pitch", {"wrong_result"})],
)
def test_gaps_between_rows_are_skipped_and_left_alone(pitched: Problem, limit: str, stride: str, kinds: set) -> None:
    source = PITCHED.replace("LIMIT", limit).replace("STRIDE", stride)
    kernel = build(pitched, parse_kernel(source), gs.VirtualGPU())
    found = verify(pitched, kernel, prepare(pitched, all_cases(pitched, seed=1))).findings
    assert {finding.kind for finding in found} == kinds


UNGUARDED = """// block: 32
// grid: 2
__global__ void twice(const float* x, float* y, int n)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    do y[i] = 2 * x[i]; while ((i += 64) < n);
}"""


def test_a_kernel_that_does_something_where_there_is_nothing_to_do_is_found(doubling: Problem) -> None:
    empty = replace(doubling, public=({"n": 64}, {"n": 128}), largest={"n": 64}, tiles=(64,), zeros=("n",))
    kernel = build(empty, parse_kernel(UNGUARDED), gs.VirtualGPU())
    result = verify(empty, kernel, prepare(empty, public_cases(empty)))
    assert [finding.kind for finding in result.findings] == ["out_of_bounds"]
    assert result.failed is not None
    assert result.failed.sizes == {"n": 0}


def test_a_grid_of_nothing_is_not_launched_and_passes(doubling: Problem) -> None:
    empty = replace(doubling, zeros=("n",))
    source = UNGUARDED.replace("grid: 2", "grid: ceil(n/32)").replace("do y", "if (i < n) y").replace(
        " while ((i += 64) < n);", "")  # fmt: skip
    kernel = build(empty, parse_kernel(source), gs.VirtualGPU())
    assert verify(empty, kernel, prepare(empty, public_cases(empty))).findings == ()


def test_a_kernel_that_happens_to_write_the_poison_value_is_wrong_but_not_silent(
    judge: Callable[..., Verification],
) -> None:
    def writes_nan(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[:] = np.frombuffer(b"\xff\xff\xff\xff", np.float32)

    assert judge(writes_nan).findings[0].pattern == "not_a_number"


def test_adding_to_what_was_there_is_not_mistaken_for_never_writing(judge: Callable[..., Verification]) -> None:
    def adds(x: np.ndarray, y: np.ndarray, n: int) -> None:
        with np.errstate(invalid="ignore"):
            y += 2 * x

    assert judge(adds).findings[0].pattern == "not_a_number"


def test_bytes_that_equal_the_poison_are_not_mistaken_for_unwritten(judge: Callable[..., Verification]) -> None:
    parameters = (array("x", "uint8", "n"), array("y", "uint8", "n", role="out"), size("n"))

    def all_255(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[:] = 255

    (finding,) = judge(all_255, parameters=parameters, reference=lambda v: {"y": v["x"]}).findings
    assert finding.pattern == "constant"


def test_a_changed_input_is_found(judge: Callable[..., Verification]) -> None:
    def scribbles(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[:] = 2 * x
        x[-1] += 1

    (finding,) = judge(scribbles).findings
    assert finding.kind == "input_changed"
    assert "its input x" in finding.message


@pytest.mark.parametrize(("offset", "words"), [(0, "0 bytes past the end of y"), (8, "8 bytes past the end of y")])
def test_a_write_past_the_end_breaks_the_guard(
    doubling: Problem, host: Any, runs: Runs, offset: int, words: str
) -> None:
    runnable = runs(right)
    launch = runnable.kernel.launch

    def overrun(*, args: tuple[Any, ...], **rest: Any) -> None:
        launch(args=args, **rest)
        end = args[1].address + args[1].nbytes + offset
        host.memory[end : end + 4] = 1

    runnable.kernel.launch = overrun  # type: ignore[method-assign]
    (finding,) = verify(doubling, runnable, prepare(doubling, public_cases(doubling))).findings
    assert finding.kind == "out_of_bounds"
    assert words in finding.message


def test_a_write_before_the_start_breaks_the_guard(doubling: Problem, host: Any, runs: Runs) -> None:
    runnable = runs(right)
    launch = runnable.kernel.launch

    def underrun(*, args: tuple[Any, ...], **rest: Any) -> None:
        launch(args=args, **rest)
        host.memory[args[0].address - 4 : args[0].address] = 1

    runnable.kernel.launch = underrun  # type: ignore[method-assign]
    (finding,) = verify(doubling, runnable, prepare(doubling, public_cases(doubling))).findings
    assert "4 bytes before x" in finding.message


def jitter() -> Callable[..., None]:
    calls = iter(range(1000))

    def body(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[:] = np.nextafter(2 * x, np.float32(np.inf)) if next(calls) % 2 else 2 * x

    return body


def test_two_runs_that_differ_are_found_unless_the_problem_says_why(judge: Callable[..., Verification]) -> None:
    random_only = {"exact": False, "without": dict.fromkeys(("denormal", "nonfinite"), "not this test's business")}
    (finding,) = judge(jitter(), **random_only).findings
    assert finding.kind == "unrepeatable"
    assert judge(jitter(), **random_only, unrepeatable="atomics add in any order").findings == ()


@pytest.mark.parametrize(("same_bits", "kinds"), [(False, []), (True, ["unrepeatable"])])
def test_atomics_explain_other_bits_unless_the_problem_asks_for_the_same(
    doubling: Problem, same_bits: bool, kinds: list[str]
) -> None:
    """256 thirds, fifths and so on in any order: a sum that is right, in other last bits each time."""
    source = (
        "// grid: 1\n// block: 256\n__global__ void twice(const float* x, float* y, int n) {\n"
        "  __shared__ float sum;\n  if (threadIdx.x == 0) sum = 0.0f;\n  __syncthreads();\n"
        "  atomicAdd(&sum, 1.0f / (2.0f * threadIdx.x + 3.0f));\n  __syncthreads();\n"
        "  if (threadIdx.x < n) y[threadIdx.x] = 2 * x[threadIdx.x] + sum;\n}\n"
    )
    total = sum(1 / (2 * t + 3) for t in range(256))
    problem = replace(
        doubling, same_bits=same_bits, exact=False, terms="256", without=dict.fromkeys(("denormal", "nonfinite"), "…"),
        reference=lambda v: {"y": 2 * v["x"] + total}, magnitude=lambda v: {"y": 2 * abs(v["x"]) + total},
    )  # fmt: skip
    runnable = build(problem, parse_kernel(source, filename="twice.cu"), gs.VirtualGPU("h200"))
    result = verify(problem, runnable, prepare(problem, public_cases(problem)))
    assert [finding.kind for finding in result.findings] == kinds


def test_a_problem_cannot_ask_for_the_same_bits_and_for_any(doubling: Problem) -> None:
    with pytest.raises(ProblemError, match="same_bits=True says that no two runs differ"):
        replace(doubling, same_bits=True, unrepeatable="atomics")


def test_every_run_must_be_right_even_where_runs_may_differ(judge: Callable[..., Verification]) -> None:
    calls = iter(range(1000))

    def second_run_wrong(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y[:] = 3 * x if next(calls) % 2 else 2 * x

    (finding,) = judge(second_run_wrong, unrepeatable="atomics").findings
    assert (finding.kind, finding.pattern) == ("wrong_result", "factor")


def test_a_result_of_the_run_before_does_not_help(judge: Callable[..., Verification]) -> None:
    calls = iter(range(1000))

    def only_once(x: np.ndarray, y: np.ndarray, n: int) -> None:
        if next(calls) == 0:
            y[:] = 2 * x

    assert judge(only_once).findings != ()


def test_an_array_that_is_updated_in_place_starts_fresh_in_each_run(judge: Callable[..., Verification]) -> None:
    parameters = (array("x", "float32", "n"), array("y", "float32", "n", role="inout"), size("n"))

    def add(x: np.ndarray, y: np.ndarray, n: int) -> None:
        y += x

    assert judge(add, parameters=parameters, reference=lambda v: {"y": v["x"] + v["y"]}, terms="2").findings == ()


def test_a_launch_that_cannot_be_is_a_finding(doubling: Problem, runs: Runs) -> None:
    runnable = replace(runs(right), launch=replace(runs(right).launch, grid=("n//64",)))
    (finding,) = verify(doubling, runnable, prepare(doubling, public_cases(doubling))).findings
    assert finding.kind == "launch"
    assert "grid n//64 is 0 for n=8" in finding.message


@pytest.mark.parametrize(("out", "x"), [("float* out", "float* in"), ("float* r", "const float* u")])
def test_an_output_that_is_read_asks_for_the_order_of_the_parameters(doubling: Problem, out: str, x: str) -> None:
    names = out.split("* ")[1], x.split("* ")[1]
    source = f"""// grid: ceil(n/32)
// block: 32
__global__ void twice({out}, {x}, int n)
{{
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) {names[0]}[i] = 2 * {names[1]}[i];
}}"""
    kernel = build(doubling, parse_kernel(source), gs.VirtualGPU())
    (finding,) = verify(doubling, kernel, prepare(doubling, public_cases(doubling))).findings
    assert finding.kind == "uninitialised_read"
    assert f"reads {names[1]}[0] of 8 elements, which neither" in finding.message
    assert "It is y, an output of the problem" in finding.message
    assert "in the problem's order, x, y, n?" in finding.message
    assert "have to be filled first" not in finding.message
    named = replace(kernel, facts=replace(kernel.facts, by_name=True))
    (finding,) = verify(doubling, named, prepare(doubling, public_cases(doubling))).findings
    assert "It is y, an output of the problem" in finding.message
    assert "in the problem's order" not in finding.message


COPIES = """__global__ void twice(const float* x, float* y, int n)
{
    const int i = threadIdx.x;
    if (i < n) y[i] = 2 * x[i];
}"""


def test_an_empty_size_is_named_where_its_result_was_not_written(doubling: Problem) -> None:
    from gridstride.judge.problem import Case
    from gridstride.judge.results.evidence import Pattern
    from gridstride.judge.results.wrong_result import _hint

    kernel = build(doubling, parse_kernel("// grid: 1\n// block: 32\n" + COPIES), gs.VirtualGPU())
    unwritten = Pattern("never_written", "", "")
    assert "With K=0 there is nothing to go over" in _hint(kernel, Case({"M": 3, "K": 0}, "normal", 1), unwritten)
    assert _hint(kernel, Case({"M": 3, "K": 1}, "normal", 1), unwritten) == ""


def test_a_float_index_is_named_where_it_is_no_longer_exact(doubling: Problem) -> None:
    from gridstride.judge.problem import Case
    from gridstride.judge.results.evidence import Pattern
    from gridstride.judge.results.wrong_result import _hint

    source = COPIES.replace("threadIdx.x", "(int)(float)(blockIdx.x * 32 + threadIdx.x)")
    kernel = build(doubling, parse_kernel("// grid: 1\n// block: 32\n" + source), gs.VirtualGPU())
    assert kernel.facts.float_index
    tail = Pattern("never_written", "", "")
    assert "exact up to 16,777,216 only" in _hint(kernel, Case({"n": 1 << 25}, "normal", 1), tail)
    assert _hint(kernel, Case({"n": 1000}, "normal", 1), tail) == ""


GRID_BARRIER = """// block: 32
// grid: ceil(n/32)
// cooperative: YES
__device__ unsigned arrived, generation;
__global__ void twice(const float* x, float* y, int n)
{
    const int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) y[i] = x[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned mine = atomicAdd(&generation, 0u);
        if (atomicAdd(&arrived, 1u) == gridDim.x - 1) { arrived = 0; __threadfence(); atomicAdd(&generation, 1u); }
        else while (atomicAdd(&generation, 0u) == mine) {}
        __threadfence();
    }
    __syncthreads();
    if (i < n) y[i] += x[i];
}"""


@pytest.mark.parametrize(("cooperative", "kinds"), [("yes", set()), ("no", {"deadlock"})])
def test_who_waits_for_all_blocks_needs_a_cooperative_launch(doubling: Problem, cooperative: str, kinds: set) -> None:
    kernel = build(doubling, parse_kernel(GRID_BARRIER.replace("YES", cooperative)), gs.VirtualGPU(time_limit=5))
    found = verify(doubling, kernel, prepare(doubling, all_cases(doubling, seed=1))).findings
    assert {finding.kind for finding in found} == kinds


def test_a_launch_shape_below_code_is_not_overlooked_in_silence(doubling: Problem) -> None:
    source = f"#include <cuda_fp16.h>\n// grid: ceil(n/32)\n// block: 32\n{COPIES}"
    with pytest.raises(RefusedError) as refused:
        build(replace(doubling, launch=None), parse_kernel(source), gs.VirtualGPU())
    assert refused.value.finding.line == 2
    assert "line 2 is too far down: move it" in refused.value.finding.message
