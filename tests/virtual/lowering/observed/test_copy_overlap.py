"""What a warp issues between an asynchronous copy and the wait for it."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

KERNEL = """
#include <cuda_pipeline.h>
extern "C" __global__ void k(const float* in, float* out, int rounds)
{
    __shared__ float row[2][32];
    const int t = threadIdx.x;
    float v = in[t];
    row[1][t] = v;
    BEFORE
#pragma unroll 1
    for (int r = 0; r < rounds; ++r) {
        START
        v = v * v + 1.0f;  // work
        WAIT
    }
    __pipeline_wait_prior(0);
    out[t] = v;
}
"""
COPY = "__pipeline_memcpy_async(&row[0][t], in + t, 4);"
COMMIT, WAIT, WAIT_BUT_ONE = "__pipeline_commit();", "__pipeline_wait_prior(0);", "__pipeline_wait_prior(1);"


def worked_under_copies(*, before: str = "", start: str, wait: str) -> tuple[int, int]:
    """Instructions of the line with the work in four rounds: those with a copy under way, and all."""
    source = KERNEL.replace("BEFORE", before).replace("START", start).replace("WAIT", wait)
    out = np.zeros(32, np.float32)
    run = gs.cuda(source)["k"].observe(1, 32)(np.ones(32, np.float32), out, 4)
    number = next(n for n, line in enumerate(source.splitlines(), start=1) if "// work" in line)
    (line,) = (each for each in run.counters.lines if each.line == number)
    return line.overlapped_instructions, line.instructions


@pytest.mark.parametrize(
    ("start", "wait", "covered"),
    [
        (COPY + COMMIT, WAIT, True),
        (COPY, "", True),
        (COPY + COMMIT + WAIT, "", False),
        (COMMIT, WAIT, False),  # a group without a copy
        (COMMIT, "", False),
        (COPY + COMMIT + WAIT_BUT_ONE, "", True),
        (COPY + COMMIT + COMMIT + WAIT_BUT_ONE, "", False),
        (COPY + COMMIT + "__syncthreads();", WAIT, True),
    ],
)
def test_work_is_overlapped_from_the_copy_to_the_wait_for_it(start: str, wait: str, covered: bool) -> None:
    overlapped, issued = worked_under_copies(start=start, wait=wait)
    assert issued > 0
    assert overlapped == (issued if covered else 0)


def test_a_copy_of_the_round_before_counts() -> None:
    overlapped, issued = worked_under_copies(start="", wait=WAIT + COPY + COMMIT)
    assert overlapped == issued > 0


def test_without_copies_nothing_is_overlapped() -> None:
    assert worked_under_copies(start="", wait="")[0] == 0
