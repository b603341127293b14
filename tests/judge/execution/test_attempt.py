"""What a run's findings say of the order of its blocks: the truth, also where another order came first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gridstride as gs
from gridstride.judge.execution.attempt import attempt, steps
from gridstride.judge.execution.runnable import build, scheduled
from gridstride.judge.find import find
from gridstride.judge.header import parse_kernel
from gridstride.judge.problem import Case
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.submission import check
from gridstride.virtual.machine.schedule import IN_TURN

HEADER = "// grid: ceil(n/256)\n// block: 256\n"
IN_TURN_TOO = """
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];
}
"""
ONLY_OUT_OF_TURN = """
__device__ unsigned tickets;
extern "C" __global__ void vector_add(const float *a, const float *b, float *c, int n) {
    __shared__ unsigned ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(&tickets, 1) % gridDim.x;
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n || ticket != blockIdx.x) c[i] = a[i] + b[i];
}
"""


def message(tmp_path: Path, source: str) -> str:
    (tmp_path / "a.cu").write_text(HEADER + source)
    result = check(tmp_path / "a.cu", find("vector_add"), device=gs.VirtualGPU(), seed=5, sandbox=False)
    assert {each.kind for each in result.findings} == {"out_of_bounds"}
    return result.findings[0].message


def test_what_is_found_in_turn_too_is_not_put_down_to_the_order(tmp_path: Path) -> None:
    assert "in turn" not in message(tmp_path, IN_TURN_TOO)


def test_what_is_found_in_another_order_alone_says_so(tmp_path: Path) -> None:
    assert "in turn nothing was found" in message(tmp_path, ONLY_OUT_OF_TURN)


def test_stale_flags_are_found_with_other_data_in_another_order() -> None:
    """On one core blocks that wait for their neighbour find its sum of this launch, unless they start before it."""
    path = Path(__file__).parent.parent / "plausible" / "wrong" / "reduction" / "chain_of_flags.cu"
    result = check(path, find("reduction"), device=gs.VirtualGPU(workers=1), seed=5, sandbox=False)
    assert {each.kind for each in result.findings} & {"wrong_result", "unrepeatable", "race", "deadlock"}


COUNTS_ON = """
// grid: min(ceil(n/256), SMS)
// block: 256
// A launch that finds a count that is no multiple of its blocks waits for one that never comes.
__device__ unsigned arrived;
__global__ void vector_add(const float *a, const float *b, float *c, int n) {
    const int stride = gridDim.x * blockDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += stride) c[i] = a[i] + b[i];
    if (threadIdx.x) return;
    const unsigned before = atomicAdd(&arrived, 1), goal = (before / gridDim.x + 1) * gridDim.x;
    while ((int)(atomicAdd(&arrived, 0) - goal) < 0) continue;
}
"""


def test_a_module_s_gpu_keeps_its_multiprocessors() -> None:
    """What it counts from launch to launch may rest on the size of its grid, at equal sizes."""
    gpu, problem = gs.VirtualGPU(workers=1, time_limit=5), find("vector_add").problem
    kernel = build(problem, parse_kernel(COUNTS_ON), gpu)
    case = Case({"n": 3000}, "normal", 0, once=True)
    inputs = [prepare(problem, [case])[0].inputs]
    for multiprocessors in (None, 7, 5, None, 2):
        done = attempt(kernel, problem.signature, replace(case, multiprocessors=multiprocessors), inputs)
        assert done.findings == ()


def test_which_order_comes_first_changes_with_each_input() -> None:
    case = Case({"n": 8}, "normal", 0)
    assert [step.ordered for step in steps(case, 2)] == [False, True, True]
    assert [step.ordered for step in steps(replace(case, fresh=True), 2)] == [True, False, False]
    assert [step.ordered for step in steps(replace(case, once=True), 1)] == [False]
    assert [step.ordered for step in steps(replace(case, once=True, swapped=True), 1)] == [True]


def test_a_verdict_runs_on_one_core_so_that_it_is_the_same_each_time() -> None:
    gpu = gs.VirtualGPU(workers=4)
    with scheduled(gpu, None):
        assert gpu.schedule == IN_TURN
    with scheduled(gpu, "any"):
        assert gpu.schedule is None
