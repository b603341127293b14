"""What the analysis proves of a kernel's control flow: who diverges, and where lanes may wait meanwhile."""

from __future__ import annotations

import time

from gridstride.compiler import compile_cuda
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.analysis.normalise import SyncEffects
from gridstride.virtual.lowering.analysis.uniformity import Facts, analyse
from gridstride.virtual.lowering.kernel import prepare
from gridstride.virtual.ptx import parse

ROLES = """
extern "C" __global__ void roles(int* flags, float* out)
{
    const int warp = WARP;
    if (warp == 0) {
        unsigned int seen;
        do {
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(flags) : "memory");
        } while (!__all_sync(0xffffffff, seen == 1));
        out[threadIdx.x] = 1.0f;
    } else {
        for (int i = 0; i < 100; ++i) out[threadIdx.x + i * 32] = 2.0f;
        asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flags) : "memory");
    }
}
"""


def facts(source: str) -> Facts:
    (kernel,) = parse(compile_cuda(source, arch="sm_90").ptx).entries
    code, _ = prepare(kernel, frozenset(p.name for p in kernel.params), SyncEffects.of([kernel]))
    return analyse(code, BlockShape.of(64, 1, 1))


def test_a_warp_has_one_role_where_its_number_comes_from_one_lane() -> None:
    """As pipelines write it: `__shfl_sync` from lane 0 tells the compiler that all lanes go the same way."""
    found = facts(ROLES.replace("WARP", "__shfl_sync(0xffffffff, threadIdx.x / 32, 0)"))
    assert not any(found.divergent)
    assert not any(found.frontier)
    assert all(found.full_warp)


def test_a_warp_whose_lanes_say_each_for_itself_may_part() -> None:
    """What one lane finds may be another lane's to wait for: while the first role waits, the second has its turn."""
    found = facts(ROLES.replace("WARP", "flags[threadIdx.x]"))
    assert any(found.divergent)
    assert any(found.frontier)
    assert not all(found.full_warp)


def test_many_loops_that_wait_are_analysed_in_the_time_of_a_compilation() -> None:
    """Lanes of one such loop may wait in every other: 60 of them that depend on each other took minutes."""
    loop = 'do { asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(x) : "l"(flags + N)); } while (x < 5);'
    body = "\n".join(loop.replace("N", f"threadIdx.x + {32 * i}") + " out[x] = x;" for i in range(60))
    start = time.process_time()
    found = facts(f'extern "C" __global__ void many(int* flags, float* out) {{ int x; {body} }}')
    assert any(found.frontier)
    assert time.process_time() - start < 10
