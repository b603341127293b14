"""A fence releases what its thread has done; it tells the thread nothing of others. What lanes a mask names meet."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

UPDATES = {
    "a total of all blocks": "if (t == 0) { __threadfence(); *total = *total + 1; __threadfence(); }",
    "with an atomic beside it": """if (t == 0) { __threadfence(); *total = *total + 1; __threadfence();
        atomicAdd(o + blockIdx.x, 1); }""",
    "a total of all warps": """__shared__ int s; if (t == 0) s = 0; __syncthreads();
        if (t % 32 == 0) { __threadfence_block(); s = s + 1; __threadfence_block(); }
        __syncthreads(); if (t == 0) o[blockIdx.x] = s;""",
}
ORDERED = {
    "the last block adds up": """__shared__ bool last; if (t == 0) { o[blockIdx.x] = t; __threadfence();
        last = atomicAdd(total, 1) == gridDim.x - 1; } __syncthreads(); if (last && t == 0) { __threadfence();
        int sum = 0; for (int b = 0; b < gridDim.x; ++b) sum += o[b]; o[32] = sum; }""",
    "a flag between blocks": """if (t == 0 && blockIdx.x == 0) { o[0] = 7; __threadfence(); atomicExch(total, 1); }
        if (t == 0 && blockIdx.x == 1) { while (*(volatile int*)total != 1) {} __threadfence(); o[1] = o[0]; }""",
    "a lock": """if (t == 0) { while (atomicCAS(total, 0, 1)) {} __threadfence(); o[0] = o[0] + 1; __threadfence();
        atomicExch(total, 0); }""",
    "a flag between warps": """__shared__ volatile int flag; __shared__ int s; if (t == 0) flag = 0; __syncthreads();
        if (t == 0) { s = 3; __threadfence_block(); flag = 1; }
        if (t == 32) { while (flag != 1) {} __threadfence_block(); o[blockIdx.x] = s; }""",
}


def races(body: str, *, block: int = 64, grid: int = 4) -> int:
    source = f"__global__ void k(int* o, int* total) {{ int t = threadIdx.x; {body} }}"
    with gs.use(gs.VirtualGPU("h200")):
        run = gs.cuda(source)["k"].observe(grid, block)(np.zeros(64, np.int32), np.zeros(1, np.int32))
    return sum(each.kind == "race" for each in run.findings)


@pytest.mark.parametrize("body", UPDATES.values(), ids=UPDATES)
def test_fences_around_an_update_do_not_order_it(body: str) -> None:
    assert races(body)


@pytest.mark.parametrize("body", ORDERED.values(), ids=ORDERED)
def test_what_was_read_behind_a_release_is_ordered(body: str) -> None:
    assert not races(body)


MASKS = {
    "halves apart": ("s[t] = t; __syncwarp(t < 16 ? 0xffffu : 0xffff0000u); o[t] = s[31 - t];", True),
    "halves each by themselves": ("s[t] = t; __syncwarp(t < 16 ? 0xffffu : 0xffff0000u); o[t] = s[t ^ 15];", False),
    "readers that are not named": ("if (t < 16) { s[t] = t; __syncwarp(0xffffu); } o[t] = s[t & 15];", True),
    "a chain of two": ("""if (t == 0) s[0] = 1; if (t < 16) __syncwarp(0xffffu);
        if (t > 7) __syncwarp(0xffffff00u); if (t == 31) o[0] = s[0];""", False),
    "all": ("s[t] = t; __syncwarp(); o[t] = s[31 - t];", False),
    "a shuffle of some": ("s[t] = t; if (t < 16) o[t] = __shfl_xor_sync(0xffffu, t, 1) + s[t + 16];", True),
    "after others have left": ("s[t] = t; if (t > 15) return; __syncwarp(0xffffu); o[t] = s[t ^ 15];", False),
}  # fmt: skip


@pytest.mark.parametrize(("body", "race"), MASKS.values(), ids=MASKS)
def test_a_mask_brings_those_together_that_it_names(body: str, race: bool) -> None:
    assert (races(f"__shared__ int s[32]; {body}", block=32, grid=1) > 0) == race
