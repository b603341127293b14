"""Which parameter an address is made from."""

from __future__ import annotations

import pytest

from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.flow.provenance import parameter_of

KERNEL = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 y, .param .u32 n)
{{
    .reg .b64 %rd<9>;
    .reg .b32 %r<9>;
    .reg .pred %p<2>;
    ld.param.u64 %rd1, [x];
    ld.param.u64 %rd2, [y];
    ld.param.u32 %r1, [n];
    {code}
    st.global.u32 [%rd8], %r1;
    ret;
}}
"""


@pytest.mark.parametrize(("code", "parameter"), [
    ("cvta.to.global.u64 %rd3, %rd1; mad.wide.s32 %rd8, %r1, 4, %rd3;", "x"),
    ("cvt.u64.u32 %rd3, %r1; shl.b64 %rd3, %rd3, 2; add.s64 %rd8, %rd3, %rd2;", "y"),
    ("sub.s64 %rd8, %rd1, %rd2;", "x"),
    ("setp.eq.u32 %p1, %r1, 0; selp.b64 %rd8, %rd1, %rd2, %p1;", None),
    ("mov.u64 %rd8, %rd1;", "x"),
    ("mov.u64 %rd8, 0;", None),
    ("xor.b64 %rd8, %rd1, 1;", None),
    ("ld.global.u64 %rd8, [%rd1];", None),
], ids=["x[n]", "y[n]", "difference", "either", "copy", "null", "bits", "from memory"])  # fmt: skip
def test_an_address_comes_from_a_parameter_or_from_none(code: str, parameter: str | None) -> None:
    (function,) = parse(KERNEL.format(code=code)).functions.values()
    store = next(ins for ins in function.instructions if ins.opcode == "st")
    assert parameter_of(function, store.ptx_line) == parameter
