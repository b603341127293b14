"""Logic and shifts: and, or, xor, not, cnot, lop3, shl, shr, shf. On predicates the first four work alike."""

from __future__ import annotations

from gridstride.virtual.ir.builder import Builder, Value, constant
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.instructions.arithmetic.bits import amounts, shift_left, shift_right
from gridstride.virtual.ptx.module import DestinationPair, Immediate, Instruction


def bitwise(cx: Lowering, ins: Instruction) -> None:
    """and, or, xor."""
    t = ins.type
    x, y = cx.sources(t, t)
    cx.set(ins.operands[0], cx.b.op(ins.opcode, x, y))


def complement(cx: Lowering, ins: Instruction) -> None:
    """not."""
    (x,) = cx.sources(ins.type)
    cx.set(ins.operands[0], cx.b.op("xor", x, constant(x.type, -1)))


def logical_not(cx: Lowering, ins: Instruction) -> None:
    """cnot: 1 for 0, else 0."""
    (x,) = cx.sources(ins.type)
    zero = cx.b.compare("eq", x, constant(x.type, 0))
    cx.set(ins.operands[0], cx.b.select(zero, constant(x.type, 1), constant(x.type, 0)))


# -- any function of three bits ---------------------------------------------------------------------------------------
def _of_two(b: Builder, table: int, x: Value, y: Value) -> Value | None:
    """A function of two bits by its truth table (bit 2x + y); None where it is always 0."""
    if table & 1:
        inverse = _of_two(b, 15 - table, x, y)
        ones = constant(x.type, -1)
        return ones if inverse is None else b.op("xor", inverse, ones)
    if table in (10, 12):
        return y if table == 10 else x
    name = {6: "xor", 8: "and", 14: "or"}.get(table)
    if name is not None:
        return b.op(name, x, y)
    if not table:
        return None
    positive, dropped = (x, y) if table == 4 else (y, x)
    return b.op("and", positive, b.op("xor", dropped, constant(x.type, -1)))


def any_function(b: Builder, table: int, x: Value, y: Value, z: Value) -> Value:
    """A function of three bits by its truth table (bit 4x + 2y + z).

    With f₀ and f₁ the functions of x and y for z = 0 and z = 1, it is f₀ ^ (z & (f₀ ^ f₁)).
    """
    low = sum((table >> 2 * i & 1) << i for i in range(4))
    high = sum((table >> 2 * i + 1 & 1) << i for i in range(4))
    base = _of_two(b, low, x, y)
    if low == high:
        return constant(x.type, 0) if base is None else base
    changes = _of_two(b, low ^ high, x, y)
    assert changes is not None
    moved = z if low ^ high == 15 else b.op("and", z, changes)
    return moved if base is None else b.op("xor", base, moved)


def lop3(cx: Lowering, ins: Instruction) -> None:
    """lop3: any function of three words; lop3.or and lop3.and also give (result ≠ 0) combined with a predicate."""
    b = cx.b
    combine = next((m for m in ins.modifiers if m in ("or", "and")), None)
    table, into = ins.operands[4], ins.operands[0]
    assert isinstance(table, Immediate)
    kinds = ("b32", "b32", "b32") + (("b32", "pred") if combine else ())
    x, y, z, *predicates = cx.sources(*kinds)
    result = any_function(b, table.bits & 0xFF, x, y, z)
    if not combine:
        cx.set(into, result)
        return
    assert isinstance(into, DestinationPair)
    nonzero = b.compare("ne", result, constant(result.type, 0))
    cx.set(into.destination, result)
    cx.set(into.predicate, b.op(combine, nonzero, predicates[1]))


# -- shifts -----------------------------------------------------------------------------------------------------------
def shl(cx: Lowering, ins: Instruction) -> None:
    """shl: amounts are unsigned 32-bit numbers; 0 from the width on."""
    x, by = cx.sources(ins.type, "u32")
    cx.set(ins.operands[0], shift_left(cx.b, x, *amounts(cx, x, by)))


def shr(cx: Lowering, ins: Instruction) -> None:
    """shr: from the width on 0, or the sign of a signed type."""
    t = ins.type
    x, by = cx.sources(t, "u32")
    signed = t[0] == "s"
    cx.set(ins.operands[0], shift_right(cx.b, x, *amounts(cx, x, by), signed=signed), signed=signed)


def funnel(cx: Lowering, ins: Instruction) -> None:
    """shf: b:a shifted left (upper word taken) or right (lower word); the amount wraps, or stops at 32."""
    b = cx.b
    low, high, by = cx.sources("b32", "b32", "u32")
    left = "l" in ins.modifiers
    result = b.intrinsic("fshl" if left else "fshr", high, low, by)
    if "clamp" in ins.modifiers:
        inside = b.compare("ult", by, constant(by.type, 32))
        result = b.select(inside, result, low if left else high)
    cx.set(ins.operands[0], result)
