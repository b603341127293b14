"""Types and parts of integer instructions, and products of any width."""

from __future__ import annotations

from gridstride.virtual.ir.builder import Builder, Value, bits, constant
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction

_DOUBLE = {8: "i16", 16: "i32", 32: "i64", 64: "i128"}


def product(cx: Lowering, x: Value, y: Value, *, signed: bool, part: str) -> Value:
    """x · y: its low half, its high half, or (`wide`) both."""
    b = cx.b
    if part == "lo":
        return b.op("mul", x, y)
    if bits(x.type) == 64 and x.wide:
        return _upper(b, x, y, signed=signed)
    double = _DOUBLE[bits(x.type)]
    full = b.op("mul", b.resize(x, double, signed=signed), b.resize(y, double, signed=signed))
    if part == "wide":
        return full
    return b.cast("trunc", b.op("lshr", full, constant(full.type, bits(x.type))), f"i{bits(x.type)}")


def _upper(b: Builder, x: Value, y: Value, *, signed: bool) -> Value:
    """The upper 64 bits of products, from those of 32-bit halves: vectors have no wider multiplication."""
    mask, by = constant(x.type, 0xFFFFFFFF), constant(x.type, 32)
    (xl, xh), (yl, yh) = ((b.op("and", v, mask), b.op("lshr", v, by)) for v in (x, y))
    low, cross, other, high = (b.op("mul", p, q) for p, q in ((xl, yl), (xl, yh), (xh, yl), (xh, yh)))
    middle = b.op("add", b.op("add", b.op("lshr", low, by), b.op("and", cross, mask)), b.op("and", other, mask))
    for part in (cross, other, middle):
        high = b.op("add", high, b.op("lshr", part, by))
    if signed:  # a negative factor counted as 2⁶⁴ more
        for factor, sign in ((x, y), (y, x)):
            negative = b.op("ashr", sign, constant(x.type, 63))
            high = b.op("sub", high, b.op("and", factor, negative))
    return high


def part_of(ins: Instruction) -> str:
    """Which half of a product the instruction takes: lo, hi or wide."""
    return next(part for part in ("lo", "hi", "wide") if part in ins.modifiers)
