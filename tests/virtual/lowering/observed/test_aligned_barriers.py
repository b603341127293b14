"""Barriers that lanes of one warp meet at different places, and barriers that only look like it."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.findings.finding import KernelFinding

GROUPS = "#include <cooperative_groups.h>\n"
KERNEL = """__device__ __forceinline__ void meet(int* x) { *x += 1; __syncthreads(); }
extern "C" __global__ void k(int* x, int n) {
    __shared__ int shared[128];
    const int t = threadIdx.x;
    shared[t] = t;
    BODY
    x[t] += shared[t];
}"""


def findings(body: str) -> tuple[KernelFinding, ...]:
    with gs.use(gs.VirtualGPU(workers=1, memory=64 << 20, time_limit=5)):
        source = KERNEL.replace("BODY", body)
        run = gs.cuda(GROUPS + source if "cooperative_groups" in body else source)["k"].observe(1, 64)(
            np.zeros(64, np.int32), 3
        )
        assert isinstance(run.findings, tuple)
        return run.findings


APART = {
    "as often as it takes": """if (t < 40) { x[t] += 1; __syncthreads(); }
        else for (int i = 0; i < n; i++) __syncthreads();""",
    "and nothing after it": """if (t < 40) { x[t] = 1; __syncthreads(); x[t] += 2; return; }
        else { for (int i = 0; i < 3; i++) { x[t] += i; __syncthreads(); } return; }""",
    "one for each arm": "if (t % 2) { x[t] = 1; __syncthreads(); } else { x[t] = 2; __syncthreads(); x[t] = 5; }",
    "in the cases of a switch": """switch (t % 3) {
            case 0: x[t] = 4; __syncthreads(); x[t]++; break;
            case 1: x[t] = 7; __syncthreads(); x[t] *= n; break;
            default: x[t] = 9; __syncthreads(); x[t] -= n; }""",
    "one that counts": "if (t < 40) { x[t] = 1; __syncthreads(); } else x[t] = __syncthreads_count(t > n);",
    "in a function": "if (t < 40) meet(&x[t]); else { shared[t] = n; meet(&shared[t]); shared[t] += n; }",
    "named": """if (t < 40) { x[t] = 1; asm volatile("bar.sync 1;" ::: "memory"); }
        else { x[t] = 2; asm volatile("bar.sync 1;" ::: "memory"); }""",
}


# The same on one line, which is all that PTX says of where a barrier is written.
APART |= {f"{name}, on one line": " ".join(body.split()) for name, body in APART.items() if "\n" in body}
APART["in two arms on one line, and nothing after them"] = (
    "if (t < 40) { x[t] = 1; __syncthreads(); __syncthreads(); return; } "
    "else { for (int i = 0; i < 3; i++) __syncthreads(); x[t] = 2; return; }"
)
APART["in two arms of a loop, on one line"] = (
    "for (int i = 0; i < n; i++) { if (t < 40) { x[t] = i; __syncthreads(); } "
    "else { x[t] = 2 * i; __syncthreads(); x[t]++; } }"
)


@pytest.mark.parametrize("body", APART.values(), ids=APART)
def test_lanes_of_a_warp_at_different_barriers_are_found(body: str) -> None:
    found = findings(body)
    assert {f.kind for f in found} == {"barrier_divergence"}


def test_the_finding_names_both_lines() -> None:
    apart = "if (t < 40) {\n x[t] += 1; __syncthreads();\n } else\n for (int i = 0; i < n; i++) __syncthreads();"
    said = {(f.line, f.message.partition(";")[0].partition("is at ")[2]) for f in findings(apart)}
    assert said & {(7, "another barrier, in line 9"), (9, "another barrier, in line 7")}


TOGETHER = {
    "warps at different ones": "if (t < 32) { x[t] = 1; __syncthreads(); } else { x[t] = 2; __syncthreads(); }",
    "a warp that waits more often": """if (t < 32) { x[t] = 1; __syncthreads(); __syncthreads(); }
        else for (int i = 0; i < 2; i++) { x[t] += i; __syncthreads(); }""",
    "specialised warps with counts": """if (t < 32) { shared[t] = 5; asm volatile("bar.arrive 1, 64;" ::: "memory"); }
        else { asm volatile("bar.sync 1, 64;" ::: "memory"); x[t] = shared[t - 32]; }""",
    "warps with a barrier each": """if (t < 32) { shared[t] = 5; asm volatile("bar.sync 1, 32;" ::: "memory"); }
        else { shared[t] = 6; asm volatile("bar.sync 2, 32;" ::: "memory"); }""",
    "an unrolled loop": """#pragma unroll
        for (int i = 0; i < 6; i++) { __syncthreads(); shared[63 - t] += i; __syncthreads(); }""",
    "an unrolled loop in an arm": """if (t < 32) {
        #pragma unroll
            for (int i = 0; i < 6; i++) { __syncthreads(); shared[31 - t] += i; __syncthreads(); }
        } else for (int i = 0; i < 12; i++) __syncthreads();""",
    "one whose rest is apart": "for (int i = 0; i < n + 4; i++) { __syncthreads(); if (t % 3) x[t] += shared[t ^ i]; }",
    "the same for all": "if (n == 3) { x[t] = 1; __syncthreads(); } else { x[t] = 2; __syncthreads(); }",
    "lanes that have returned": "if (t > 50) return; if (n == 3) { x[t] = 1; __syncthreads(); } __syncthreads();",
    "barriers that are not aligned": """if (t % 2) { x[t] = 1; asm volatile("barrier.sync 1;" ::: "memory"); }
        else { x[t] = 2; asm volatile("barrier.sync 1;" ::: "memory"); }""",
    "a group's": """auto block = cooperative_groups::this_thread_block();
        x[t] = 1; block.sync(); if (t < 32) { x[t] = shared[t + 32]; block.sync(); } else { block.sync(); }""",
    "tiles of a warp": """auto tile = cooperative_groups::tiled_partition<16>(cooperative_groups::this_thread_block());
        if (t % 32 < 16) { x[t] = 1; tile.sync(); } else { x[t] = 2; tile.sync(); x[t] = 3; }""",
}


@pytest.mark.parametrize("body", TOGETHER.values(), ids=TOGETHER)
def test_what_is_no_divergence_is_silent(body: str) -> None:
    assert findings(body) == ()
