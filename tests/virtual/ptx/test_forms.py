"""Instructions that parse but have no such form: one clear error with the PTX line, whatever is written."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from llvmlite import binding
from ptx_programs import program

import gridstride as gs
from gridstride.virtual.errors import UnsupportedInstruction
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.kernel import lower_kernel
from gridstride.virtual.ptx import PtxError, parse
from gridstride.virtual.ptx.isa import ISA, Class
from gridstride.virtual.ptx.parsing.check import lines

WRONG = """
add.u8x4 %t0, %t1, %t2          mul.u32 %t0, %t1, %t2           mul.lo.wide.f16x2 %t0, %t1, %t2
min.u32 %t0, %t1, %t2, %t3      div.rn.s32 %t0, %t1, %t2        rem.b32 %t0, %t1, %t2
and.s32 %t0, %t1, %t2           shl.u32 %t0, %t1, %t2           lop3.b32 %t0, %t1, %t2, %t3, %t4
lop3.or.b32 %t0, %t1, %t2, %t3, 7, %p0                          prmt.b32.f5e %t0, %t1, %t2, %t3
bfe.b32 %t0, %t1, %t2, %t3      popc.u32 %t0, %t1               dp4a.u32 %t0, %t1, %t2, %t3
addc.f32 %s0, %s1, %s2          add.cc.u16 %h0, %h1, %h2        vadd.u32.u32 %t0, %t1, %t2
setp.eq %p0, %t1, %t2           setp.lo.s32 %p0, %t1, %t2       setp.eq.and.u32 %p0, %t1, %t2
set.lt.u32 %t0, %t1, %t2        selp.f16 %h0, %h1, %h2, %p0     slct.b32 %t0, %t1, %t2, %t3
cvt.u32.s32 %t0, %t1, %t2       cvt.u32 %t0, %t1                cvt.rn.f16x2.f32 %t0, %s1
cvt.rn.satfinite.e2m1x2.f32 %h0, %s1, %s2                       cvt.pack.sat.u8.s32 %t0, %t1, %t2
mov %t0, %t1                    mov.b32 {%h0, %h1, %h2}, %t0    mov.u64 {%t0, %t1}, %w0
elect.sync %t0, %t1             wgmma.wait_group.sync.aligned   madc.hi.u16 %h0, %h1, %h2, %h3
madc.hi.sat.s32 %t0, %t1, %t2, %t3
add.u32 1, %t0, %t1             add.u32 %t0|%p0, %t1, %t2       setp.ne.u32 {%p0, %p1}, %t0, %t1
"""
TEXTS = [part.strip() for line in WRONG.strip().splitlines() for part in line.split("  ") if part.strip()]


def kernel(text: str) -> str:
    return program([f"{text.replace('{', '{{').replace('}', '}}')};"], [], np.dtype(np.uint32), 32)


@pytest.mark.parametrize("text", TEXTS)
def test_a_form_that_does_not_exist_is_refused(text: str) -> None:
    source = kernel(text)
    with gs.use("virtual"), pytest.raises((PtxError, UnsupportedInstruction)) as caught:
        gs.ptx(source)["probe"][1, 32](np.zeros(32, np.uint32))
    error = caught.value
    assert text.split(".")[0].split()[0] in str(error)
    assert text in source.splitlines()[(error.line if isinstance(error, PtxError) else error.ptx_line) - 1]


ARITHMETIC = (Class.ARITHMETIC, Class.MULTIPLY, Class.MULTIPLY_ADD, Class.DIVISION, Class.CONVERT, Class.MOVE)
OPCODES = sorted(name for name, row in ISA.items() if row.kind in ARITHMETIC and row.forms)
TYPES = "u8 s8 u16 s16 u32 s32 u64 s64 b16 b32 b64 b128 f16 bf16 f32 f64 pred f16x2 bf16x2 s16x2 e4m3x2 tf32".split()
WORDS = (
    "lo hi wide sat cc relu eq lt num and or rn rz rni rna ftz satfinite pack l r wrap clamp shiftamt f4e add min po"
).split()
OPERANDS = "%p0 %h0 %t0 %t1 %w0 %s0 %v0 1 -1 0.5 !%p1 %t1|%p1 {%t0,%t1} _ %t0.b0 %tid.x [%w0]".split()


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_whatever_parses_is_lowered_or_refused(data: st.DataObject) -> None:
    opcode = data.draw(st.sampled_from(OPCODES))
    modifiers = data.draw(st.lists(st.sampled_from(WORDS), max_size=2))
    modifiers += data.draw(st.lists(st.sampled_from(TYPES), max_size=3))
    low, high = (bound(len(line.operands) for line in lines(opcode)) for bound in (min, max))
    operands = data.draw(st.lists(st.sampled_from(OPERANDS), min_size=low, max_size=high))
    try:
        module = parse(kernel(f"{'.'.join([opcode, *modifiers])} {', '.join(operands)}"))
        lowered = lower_kernel(module, "probe", BlockShape.of(32, 1, 1))
    except (PtxError, UnsupportedInstruction):
        return
    binding.parse_assembly(lowered.ir).verify()
