"""What a finding gives as its cause: a return before a barrier, the call of a function, an index past the end."""

from __future__ import annotations

import numpy as np

import gridstride as gs
from gridstride.virtual.findings.finding import KernelFinding

REVERSE = """extern "C" __global__ void k(const float* x, float* y, int n)
{
    __shared__ float s[256];
    const int t = threadIdx.x;
    LINES
    y[t] = s[255 - t];
}
"""

SUM = """__device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}
extern "C" __global__ void k(const float* x, float* y, int n)
{
    const float all = warp_sum(x[threadIdx.x]);
    y[threadIdx.x] = all;
    if (threadIdx.x < n) {
        y[0] = warp_sum(all);
    }
}
"""


def findings(source: str, n: int, blocks: int = 1, extent: int = 256) -> tuple[KernelFinding, ...]:
    with gs.use(gs.VirtualGPU(workers=1, memory=16 << 20)):
        x = gs.to_device(np.zeros(extent, np.float32))
        y = gs.to_device(np.zeros(extent, np.float32))
        found = gs.cuda(source, filename="k.cu")["k"].observe(blocks, 256)(x, y, np.int32(n)).findings
        assert isinstance(found, tuple)
        return found


def race_in(lines: str, n: int = 0) -> KernelFinding:
    return next(each for each in findings(REVERSE.replace("LINES", lines), n) if each.kind == "race")


def test_a_race_with_a_thread_that_returned_before_the_barrier_says_so() -> None:
    found = race_in("s[t] = x[t];\n    if (t >= n) return;\n    __syncthreads();", n=64)
    assert (found.line, found.other.line if found.other else None) == (8, 5)
    assert "(255, 0, 0) wrote in line 5. That thread had returned before the barrier in line 7, and" in found.message
    assert "missing?" not in found.message


def test_it_is_said_of_whole_warps_too_whose_number_is_no_multiple_of_a_warp() -> None:
    found = race_in("s[t] = x[t];\n    if (t >= n) return;\n    __syncthreads();", n=7)
    assert "had returned before the barrier in line 7" in found.message


def test_a_race_with_a_barrier_before_both_sides_asks_for_another() -> None:
    assert race_in("s[t] = 0;\n    __syncthreads();\n    s[t] = x[t];").message.endswith(
        "is a __syncthreads() missing?"
    )


def test_a_mask_in_a_called_function_names_the_line_of_the_call() -> None:
    (found,) = (each for each in findings(SUM, 8) if each.kind == "member_mask")
    assert found.line == 3
    assert "names lanes 8-31, which do not come here, called from line 11: " in found.message
    assert "move the call out of the `if`" in found.message


def test_a_mask_in_the_kernel_itself_names_no_call() -> None:
    source = SUM.replace("warp_sum(all)", "__shfl_sync(0xffffffffu, all, 0)")
    (found,) = (each for each in findings(source, 8) if each.kind == "member_mask")
    assert found.line == 11
    assert "called from" not in found.message
    assert "move it out of the `if`" in found.message


def test_a_line_that_goes_out_of_bounds_is_not_said_to_race_with_itself() -> None:
    source = """extern "C" __global__ void k(const float* x, float* y, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    for (int f = 0; f < 4; ++f) y[f * n + i] = x[threadIdx.x] + i;
}
"""
    assert [each.kind for each in findings(source, 250, blocks=1, extent=1000)] == ["out_of_bounds"]
    assert {each.kind for each in findings(source, 250, blocks=1, extent=1006)} == {"race"}
