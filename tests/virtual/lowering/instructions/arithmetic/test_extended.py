"""addc, subc and madc.lo of 16 bits: they take the carry that a 32-bit instruction left."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

PTX = """.version 8.5
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 words, .param .u64 shorts, .param .u64 out)
{{
    .reg .b64 %w, %s, %o; .reg .b32 %t, %a, %b, %c; .reg .b16 %x, %y, %z, %d;
    mov.u32 %t, %tid.x;
    ld.param.u64 %w, [words]; mad.wide.u32 %w, %t, 8, %w; ld.global.v2.u32 {{%a, %b}}, [%w];
    ld.param.u64 %s, [shorts]; mad.wide.u32 %s, %t, 8, %s; ld.global.v4.u16 {{%x, %y, %z, %d}}, [%s];
    {first}.cc.u32 %c, %a, %b;
    {second};
    ld.param.u64 %o, [out]; mad.wide.u32 %o, %t, 2, %o; st.global.u16 [%o], %d;
    ret;
}}
"""
CASES = {
    "addc.u16 %d, %x, %y": ("add", lambda x, y, z, carry: x + y + carry),
    "addc.s16 %d, %x, %y": ("add", lambda x, y, z, carry: x + y + carry),
    "subc.u16 %d, %x, %y": ("sub", lambda x, y, z, borrow: x - y - borrow),
    "madc.lo.u16 %d, %x, %y, %z": ("add", lambda x, y, z, carry: x * y + z + carry),
}


@pytest.mark.parametrize("text", CASES)
def test_the_carry_of_a_word_goes_into_a_short(text: str) -> None:
    first, model = CASES[text]
    rng = np.random.default_rng(11)
    words = rng.integers(0, 2**32, (256, 2), np.uint32)
    shorts, out = rng.integers(0, 2**16, (256, 4)).astype(np.uint16), np.zeros(256, np.uint16)
    with gs.use("virtual"):
        gs.ptx(PTX.format(first=first, second=text))["k"][1, 256](words, shorts, out)
    a, b = words.astype(np.int64).T
    carry = a + b >= 2**32 if first == "add" else a < b
    assert set(carry) == {False, True}
    x, y, z = shorts[:, :3].astype(np.int64).T
    assert (out == (model(x, y, z, carry.astype(np.int64)) & 0xFFFF)).all()
