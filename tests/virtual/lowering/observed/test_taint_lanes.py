"""Values that nothing has written, across lanes and matrices: precise enough for right kernels, which drop some."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

KERNEL = """#include <cuda_fp16.h>
extern "C" __global__ void k(int* x, int n) {
    __shared__ int s[64];
    __shared__ __align__(128) half tile[16 * 16], other[8 * 16];
    const int t = threadIdx.x;
    BODY
}"""

MMA = """FILL
    __syncwarp();
    unsigned a0, a1, a2, a3, b0, b1;
    float d0 = 0, d1 = 0, d2 = 0, d3 = 0;
    const unsigned at = (unsigned)__cvta_generic_to_shared(&tile[(t % 16) * 16 + t / 16 * 8]);
    const unsigned bt = (unsigned)__cvta_generic_to_shared(&other[(t % 8) * 16 + t / 8 % 2 * 8]);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
        : "=r"(a0), "=r"(a1), "=r"(a2), "=r"(a3) : "r"(at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%0, %1}, [%2];" : "=r"(b0), "=r"(b1) : "r"(bt));
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
    const int row = t / 4, col = t % 4 * 2;
    x[t] = 0;
    USE"""
WHOLE = "for (int i = t; i < 256; i += 32) tile[i] = i; for (int i = t; i < 128; i += 32) other[i] = i;"
ROWS = "for (int i = t; i < n * 16; i += 32) tile[i] = i; for (int i = t; i < 128; i += 32) other[i] = i;"
COLUMNS = "for (int i = t; i < 256; i += 32) tile[i] = i; for (int i = t; i < 5 * 16; i += 32) other[i] = i;"
DEPTH = (
    "for (int i = t; i < 256; i += 32) if (i % 16 < 12) tile[i] = i; for (int i = t; i < 128; i += 32) other[i] = i;"
)

WGMMA = """FILL
    if (t < 128) other[t] = 1;
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    const unsigned long long desc = (unsigned long long)__cvta_generic_to_shared(other) >> 4 | 8ull << 16 | 8ull << 32;
    unsigned a = s[t % 64];
    float d0 = START, d1 = 0, d2 = 0, d3 = 0;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{ .reg .pred p; setp.ne.b32 p, %6, 0;"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, {%4, %4, %4, %4}, %5, p, 1, 1, 0; }"
        : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) : "r"(a), "l"(desc), "r"(ADDS));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" : "+f"(d0), "+f"(d1), "+f"(d2), "+f"(d3) :: "memory");
    x[t] = d0;"""


def mma(fill: str, use: str) -> str:
    return MMA.replace("FILL", fill).replace("USE", use)


def wgmma(fill: str, start: str, adds: str) -> str:
    return WGMMA.replace("FILL", fill).replace("START", start).replace("ADDS", adds)


def kinds(body: str) -> set[str]:
    with gs.use(gs.VirtualGPU("h200", workers=1, memory=64 << 20, time_limit=5)):
        kernel = gs.cuda(KERNEL.replace("BODY", body))["k"]
        run = kernel.observe(1, 128 if "wgmma" in body else 32)(np.zeros(128, np.int32), 10)
        return {found.kind for found in run.findings}


FILL = "if (t < n) s[t] = t + 1; __syncthreads();"
WRONG = {
    "a reduction": f"{FILL} x[t] = __reduce_add_sync(~0u, s[t]);",
    "a vote": f"{FILL} x[t] = __all_sync(~0u, s[t] < 500);",
    "a ballot": f"{FILL} x[t] = __ballot_sync(~0u, s[t] > 500);",
    "a match": f"{FILL} x[t] = __match_any_sync(~0u, s[t]);",
    "a barrier's vote": f"{FILL} x[t] = __syncthreads_or(s[t] > 500);",
    "a barrier's count": f"{FILL} x[t] = __syncthreads_count(s[t] > 500);",
    "bytes of a word": f"{FILL} x[t] = __vabsdiffs4(s[t], 3) + __vmaxu2(s[t], 2);",
    "an exchange": "x[t] = atomicExch(&s[t], 4);",
    "a switch": f"{FILL} switch (s[t]) {{ case 0: x[t] = 4; break; case 1: x[t] = 5; break; case 2: x[t] = 9; break;"
                "case 3: x[t] = n; break; case 4: x[t] = 7 * n; }",
    "rows": mma(ROWS, "x[t] = d0 + d1 + d2 + d3;"),
    "columns": mma(COLUMNS, "if (col < 5) x[t] = d0 + d1;"),
    "part of k": mma(DEPTH, "x[t] = d0;"),
    "a warpgroup's A": wgmma("", "0", "0"),
    "a warpgroup's sums": wgmma("if (t < 32) s[t] = t;", "s[32 + t % 32]", "1"),
}  # fmt: skip
RIGHT = {
    "a vote of what is there": f"{FILL} x[t] = __ballot_sync(~0u, t < n && s[t] > 3);",
    "a vote of those there": "if (t < n) { s[t] = t; x[t] = __ballot_sync(__activemask(), s[t] > 3); }",
    "a match of those there": "if (t < n) { s[t] = t; x[t] = __popc(__match_any_sync(__activemask(), s[t] & 1)); }",
    "a vote that one decides": f"{FILL} if (__any_sync(~0u, s[t] > 5)) x[t] = 1;",
    "a reduction of members": "if (t < 16) { s[t] = t; x[t] = __reduce_add_sync(0xffff, s[t]); }",
    "a reduction of zeros": f"{FILL} x[t] = __reduce_add_sync(~0u, t < n ? s[t] : 0);",
    "a barrier's vote of what is there": f"{FILL} x[t] = __syncthreads_or(t < n && s[t] > 5);",
    "a barrier's count of what is there": f"{FILL} x[t] = __syncthreads_count(t < n ? s[t] > 5 : 0);",
    "x ^ x": 'int v = s[t]; asm volatile("xor.b32 %0, %0, %0;" : "+r"(v)); x[t] = v;',
    "dropped bytes": f"{FILL} const unsigned v = __vadd4(s[t], 0x01010101); if (t < n) x[t] = v;",
    "a part of a word": "((char*)s)[4 * t] = t; __syncwarp(); x[t] = s[t] & 255;",
    "a half of two": "((short*)s)[2 * t] = t; __syncwarp(); x[t] = __vadd2(s[t] << 16, 0) >> 16;",
    "a lock": """__shared__ int lock; if (t == 0) atomicExch(&lock, 0); __syncthreads();
        if (t == 0) { while (atomicExch(&lock, 1)); x[0] = 1; atomicExch(&lock, 0); }""",
    "all of a tile": mma(WHOLE, "x[t] = d0 + d1 + d2 + d3;"),
    "rows dropped": mma(ROWS, "if (row < n) x[t] = d0 + d1; if (row + 8 < n) x[t] += d2 + d3;"),
    "columns dropped": mma(COLUMNS, "if (col < 5) x[t] = d0 + d2; if (col + 1 < 5) x[t] += d1 + d3;"),
    "a warpgroup's whole A": wgmma("if (t < 64) s[t] = t;", "0", "0"),
    "a warpgroup's sums that are not added to": wgmma("if (t < 64) s[t] = t;", "s[t % 64]", "0"),
}


@pytest.mark.parametrize("body", WRONG.values(), ids=WRONG)
def test_what_nothing_wrote_is_found(body: str) -> None:
    assert kinds(body) == {"uninitialised_read"}


@pytest.mark.parametrize("body", RIGHT.values(), ids=RIGHT)
def test_what_does_not_matter_is_silent(body: str) -> None:
    assert kinds(body) == set()
