"""Which registers each family reads and writes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gridstride.virtual.ptx.module import Instruction
from gridstride.virtual.ptx.operands import reads, writes

One = Callable[..., Instruction]

# instruction -> written -> read, without the %, in operand order
TABLE = """
add.s32 %r1, %r2, %r3;                                      | r1 | r2 r3
add.s32 %r1, %r1, 5;                                        | r1 | r1
mov.u32 %r1, %tid.x;                                        | r1 |
mov.b64 %rd1, {%r1, %r2};                                   | rd1 | r1 r2
mov.b64 {%r1, _}, %rd1;                                     | r1 | rd1
@%p1 mov.u32 %r1, %r2;                                      | r1 | p1 r2 r1
@!%p1 st.global.u32 [%rd1], %r1;                            | | p1 rd1 r1
@%p1 setp.eq.s32 %p2|%p3, %r1, %r2;                         | p2 p3 | p1 r1 r2 p2 p3
ld.global.v4.f32 {%f1, %f2, _, %f4}, [%rd1+16];             | f1 f2 f4 | rd1
ld.global.L2::cache_hint.f32 %f1, [%rd1], %rd2;             | f1 | rd1 rd2
st.global.v2.f32 [%rd1], {%f1, %f2};                        | | rd1 f1 f2
st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r1], %r2, [%r3]; | | r1 r2 r3
red.global.add.f32 [%rd1], %f1;                             | | rd1 f1
atom.global.add.f32 %f1, [%rd1], %f2;                       | f1 | rd1 f2
atom.global.add.f32 _, [%rd1], %f2;                         | | rd1 f2
atom.cas.b32 %r1, [%rd1], %r2, %r3;                         | r1 | rd1 r2 r3
setp.lt.and.s32 %p1|%p2, %r1, %r2, !%p3;                    | p1 p2 | r1 r2 p3
setp.lt.s32 %p1|_, %r1, 5;                                  | p1 | r1
selp.b32 %r1, %r2, %r3, %p1;                                | r1 | r2 r3 p1
shfl.sync.idx.b32 %r1|%p1, %r2, %r3, 31, %r4;               | r1 p1 | r2 r3 r4
vote.sync.ballot.b32 %r1, !%p1, -1;                         | r1 | p1
match.all.sync.b32 %r1|%p1, %r2, -1;                        | r1 p1 | r2
elect.sync _|%p1, %r1;                                      | p1 | r1
activemask.b32 %r1;                                         | r1 |
lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0xC0, %p2;              | r1 p1 | r2 r3 r4 p2
testp.notanumber.f32 %p1, %f1;                              | p1 | f1
isspacep.global %p1, %rd1;                                  | p1 | rd1
bar.sync %r1, %r2;                                          | | r1 r2
bar.arrive 1, %r2;                                          | | r2
bar.warp.sync %r1;                                          | | r1
bar.red.popc.u32 %r1, 1, !%p1;                              | r1 | p1
barrier.cta.red.and.pred %p1, %r1, %r2, %p2;                | p1 | r1 r2 p2
barrier.sync.aligned %r1, %r2;                              | | r1 r2
barrier.cluster.wait;                                       | |
membar.gl;                                                  | |
fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;     | | rd1
nanosleep.u32 %r1;                                          | | r1
prefetch.global.L2 [%rd1];                                  | | rd1
discard.global.L2 [%rd1], 128;                              | | rd1
stackrestore.u64 %rd1;                                      | | rd1
stacksave.u64 %rd1;                                         | rd1 |
alloca.u64 %rd1, %rd2, 16;                                  | rd1 | rd2
cp.async.cg.shared.global [%r1], [%rd1], 16, %r2;           | | r1 rd1 r2
cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];            | | r1
cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2, %r3}], [%r4]; | | r1 rd1 r2 r3 r4
createpolicy.fractional.L2::evict_last.b64 %rd1, %f1;       | rd1 | f1
mbarrier.init.shared.b64 [%r1], %r2;                        | | r1 r2
mbarrier.inval.shared.b64 [%r1];                            | | r1
mbarrier.arrive.shared.b64 %rd1, [%r1], %r2;                | rd1 | r1 r2
mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r1], %r2; | | r1 r2
mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r1], %r2;  | | r1 r2
mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r2;        | p1 | r1 r2
mbarrier.test_wait.shared.b64 %p1, [%r1], %rd1;             | p1 | r1 rd1
mbarrier.pending_count.b64 %r1, %rd1;                       | r1 | rd1
ldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r1, %r2}, [%r3]; | r1 r2 | r3
stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r1], {%r2, %r3}; | | r1 r2 r3
mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1,%r2}, {%r3}, {%r4}, {%r5,%r6}; | r1 r2 | r3 r4 r5 r6
wmma.load.c.sync.aligned.row.m8n8k32.s32 {%r1,%r2}, [%rd1], %r3; | r1 r2 | rd1 r3
wmma.store.d.sync.aligned.row.m8n8k32.s32 [%rd1], {%r1,%r2}, %r3; | | rd1 r1 r2 r3
wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1,%r2}, %rd1, %rd2, %p1, 1, 1, 0, 0; | r1 r2 | rd1 rd2 p1 r1 r2
wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1,%r2}, {%r3,%r4,%r5,%r6}, %rd2, 1, 1, 1, 0; | r1 r2 | r3 r4 r5 r6 rd2 r1 r2
wgmma.mma_async.sync.aligned.m64n8k16.f16.f16.f16 {%r1,%r2}, %rd1, %rd2, 0, 1, 1, 0, 0; | r1 r2 | rd1 rd2
wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16 {%r1,%r2}, %rd1, %rd2, %r3, 0, 0, 1, 1, 0, 0; | r1 r2 | rd1 rd2 r3
wgmma.mma_async.sp.sync.aligned.m64n8k32.f16.f16.f16 {%r1,%r2}, %rd1, %rd2, %r3, 0, 1, 1, 1, 0, 0; | r1 r2 | rd1 rd2 r3 r1 r2
wgmma.fence.sync.aligned;                                   | |
tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1,%r2}, [%r3];     | r1 r2 | r3
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 64;      | | r1
multimem.ld_reduce.global.add.f32 %f1, [%rd1];              | f1 | rd1
multimem.red.global.add.f32 [%rd1], %f1;                    | | rd1 f1
tex.2d.v4.f32.s32 {%f1,%f2,%f3,%f4}|%p1, [%rd1, {%r1,%r2}]; | f1 f2 f3 f4 p1 | rd1 r1 r2
tex.1d.v4.f32.s32 {%f1,%f2,%f3,%f4}, [%rd1, %rd2, {%r1}];   | f1 f2 f3 f4 | rd1 rd2 r1
suld.b.1d.b32.trap %r1, [%rd1, {%r2}];                      | r1 | rd1 r2
sust.b.1d.b32.trap [%rd1, {%r2}], %r1;                      | | rd1 r2 r1
tensormap.replace.tile.box_dim.global.b1024.b32 [%rd1], 0x1, %r1; | | rd1 r1
clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p1, %q1; | p1 | q1
vadd.s32.u32.s32.sat %r1.b0, %r2.b1, %r3.h1, %r4;           | r1 | r2 r3 r4
brx.idx %r1, ts;                                            | | r1
@%p1 bra L;                                                 | | p1
bra.uni L;                                                  | |
ret;                                                        | |
trap;                                                       | |
exit;                                                       | |
call (r0), %rd1, (p0, %r1), proto;                          | | rd1 r1
call (%r1), g, (%r2);                                       | r1 | r2
call h;                                                     | |
"""  # noqa: E501

AROUND = "L: ts: .branchtargets L; proto: .callprototype _ (); .param .b32 p0; .param .b32 r0;"


def _rows() -> list[tuple[str, list[str], list[str]]]:
    found = []
    for row in TABLE.strip().splitlines():
        line, _, sets = row.partition(";")
        written, read = sets.strip().removeprefix("|").split("|")
        found.append((line + ";", [f"%{name}" for name in written.split()], [f"%{name}" for name in read.split()]))
    return found


@pytest.mark.parametrize(("line", "written", "read"), _rows())
def test_registers_of(one: One, line: str, written: list[str], read: list[str]) -> None:
    before = ".func h; .func (.reg .b32 %x) g(.reg .b32 %y);"
    found = one(AROUND + line, before=before)
    assert list(writes(found)) == written
    assert list(reads(found)) == read
