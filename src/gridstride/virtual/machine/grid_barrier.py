"""cudaCGSynchronize: the grid barrier that Numba's kernels call by name; CUDA has it in its device runtime."""

from __future__ import annotations

NAMES = ("cudaCGGetIntrinsicHandle", "cudaCGSynchronize")

PTX = """
.version 6.0
.target sm_60
.address_size 64
.visible .func (.param .b64 handle) cudaCGGetIntrinsicHandle(.param .b32 scope)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<4>;
    mov.u32 %r1, %envreg1;
    mov.u32 %r2, %envreg2;
    cvt.u64.u32 %rd1, %r1;
    shl.b64 %rd2, %rd1, 32;
    cvt.u64.u32 %rd1, %r2;
    or.b64 %rd3, %rd1, %rd2;
    st.param.b64 [handle], %rd3;
    ret;
}
.visible .func (.param .b32 error) cudaCGSynchronize(.param .b64 handle, .param .b32 flags)
{
    .reg .pred %p<6>;
    .reg .b32 %r<20>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [handle];
    setp.eq.u64 %p1, %rd1, 0;
    @%p1 bra REFUSED;
    barrier.sync 0;
    mov.u32 %r1, %tid.x;
    mov.u32 %r2, %tid.y;
    mov.u32 %r3, %tid.z;
    or.b32 %r4, %r1, %r2;
    or.b32 %r4, %r4, %r3;
    setp.ne.u32 %p2, %r4, 0;
    @%p2 bra WAIT;
    mov.u32 %r5, %nctaid.x;
    mov.u32 %r6, %nctaid.y;
    mov.u32 %r7, %nctaid.z;
    mul.lo.u32 %r8, %r5, %r6;
    mul.lo.u32 %r8, %r8, %r7;
    mov.u32 %r9, %ctaid.x;
    mov.u32 %r10, %ctaid.y;
    mov.u32 %r11, %ctaid.z;
    or.b32 %r12, %r9, %r10;
    or.b32 %r12, %r12, %r11;
    // The first block brings what is missing to the top bit, the others one each: it turns when all have come.
    sub.u32 %r13, 0x80000001, %r8;
    setp.eq.u32 %p3, %r12, 0;
    selp.b32 %r14, %r13, 1, %p3;
    membar.gl;
    atom.add.u32 %r15, [%rd1+4], %r14;
LOOK:
    ld.volatile.u32 %r16, [%rd1+4];
    xor.b32 %r17, %r16, %r15;
    setp.ge.s32 %p4, %r17, 0;
    @%p4 bra LOOK;
    membar.gl;
WAIT:
    barrier.sync 0;
    mov.u32 %r18, 0;
    st.param.b32 [error], %r18;
    ret;
REFUSED:
    trap;
    mov.u32 %r18, 82;
    st.param.b32 [error], %r18;
    ret;
}
"""
"""82 is cudaErrorCooperativeLaunchTooLarge, which nobody sees behind a trap."""
