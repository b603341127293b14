"""Extended-precision integers: add.cc, addc, sub.cc, subc, mad.cc, madc, and the carry flag of each lane.

The flag is a stack slot of one bit per lane, which LLVM turns into a mask register. Subtractions keep the borrow in it.
"""

from __future__ import annotations

from gridstride.virtual.ir.builder import Value, element, wide
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction


def _flag(cx: Lowering) -> Value:
    """Where the function keeps the carry; clear on entry."""
    areas = cx.program.scratch_of(cx).areas
    if "carry" not in areas:
        areas["carry"] = cx.b.alloca(wide("i1"))
        cx.b.entry.append(f"  store {wide('i1')} zeroinitializer, ptr {areas['carry'].name}")
    return areas["carry"]


def _read(cx: Lowering) -> Value:
    return cx.b.load(wide("i1"), _flag(cx))


def _write(cx: Lowering, carry: Value) -> None:
    """Lanes that do not execute keep theirs."""
    if not cx.always():
        carry = cx.b.select(cx.active_bits(), carry, _read(cx))
    cx.b.store(carry, _flag(cx))


def _write_result(cx: Lowering, ins: Instruction, result: Value, carry: Value) -> None:
    cx.set(ins.operands[0], result, signed=ins.types[-1][0] == "s")
    if "cc" in ins.modifiers:
        _write(cx, carry)


def _add(cx: Lowering, ins: Instruction, x: Value, y: Value, *, carry_in: bool) -> None:
    b = cx.b
    total = b.op("add", x, y)
    carry = b.compare("ult", total, x)
    if carry_in:
        bit = b.resize(_read(cx), element(total.type))
        total = b.op("add", total, bit)
        carry = b.op("or", carry, b.compare("ult", total, bit))
    _write_result(cx, ins, total, carry)


def _subtract(cx: Lowering, ins: Instruction, x: Value, y: Value, *, borrow_in: bool) -> None:
    b = cx.b
    difference = b.op("sub", x, y)
    borrow = b.compare("ult", x, y)
    if borrow_in:
        bit = b.resize(_read(cx), element(difference.type))
        borrow = b.op("or", borrow, b.compare("ult", difference, bit))
        difference = b.op("sub", difference, bit)
    _write_result(cx, ins, difference, borrow)


def add(cx: Lowering, ins: Instruction) -> None:
    """add.cc."""
    _add(cx, ins, *cx.sources(ins.type, ins.type), carry_in=False)


def add_with_carry(cx: Lowering, ins: Instruction) -> None:
    """addc, addc.cc."""
    _add(cx, ins, *cx.sources(ins.type, ins.type), carry_in=True)


def sub(cx: Lowering, ins: Instruction) -> None:
    """sub.cc."""
    _subtract(cx, ins, *cx.sources(ins.type, ins.type), borrow_in=False)


def sub_with_borrow(cx: Lowering, ins: Instruction) -> None:
    """subc, subc.cc."""
    _subtract(cx, ins, *cx.sources(ins.type, ins.type), borrow_in=True)


def _mad(cx: Lowering, ins: Instruction, *, carry_in: bool) -> None:
    from gridstride.virtual.lowering.instructions.arithmetic.integer_operands import part_of, product

    t = ins.type
    x, y, z = cx.sources(t, t, t)
    _add(cx, ins, product(cx, x, y, signed=t[0] == "s", part=part_of(ins)), z, carry_in=carry_in)


def mad(cx: Lowering, ins: Instruction) -> None:
    """mad.lo.cc, mad.hi.cc."""
    _mad(cx, ins, carry_in=False)


def mad_with_carry(cx: Lowering, ins: Instruction) -> None:
    """madc, madc.cc; with .lo and 16 bits too, which the ISA has not but ptxas takes and an H200 computes."""
    if "hi" in ins.modifiers and ("sat" in ins.modifiers or ins.type in ("u16", "s16")):
        raise cx.unsupported(f"a carry into `{ins.name}`")  # ptxas takes it, and an H200 gives no such sum
    _mad(cx, ins, carry_in=True)
