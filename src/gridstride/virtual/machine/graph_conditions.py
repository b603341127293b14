"""cudaGraphSetConditional: a kernel sets the value that a graph's conditional node looks at.

The handle is the address of two words of device memory, the value and whether one has been set
(programs/runtime/conditionals.c).
"""

from __future__ import annotations

NAMES = ("cudaGraphSetConditional",)

PTX = """
.version 6.0
.target sm_60
.address_size 64
.visible .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [handle];
    ld.param.u32 %r1, [value];
    mov.u32 %r2, 1;
    st.global.v2.u32 [%rd1], {%r1, %r2};
    ret;
}
"""
