"""Counting, finding and moving bits: popc, clz, bfind, brev, bfe, bfi, bmsk, szext, fns; shifts that PTX defines.

In LLVM a shift by the width or more is poison. PTX gives it a value, so every shift by an amount that is not known to
be small goes through `shift_left` and `shift_right` here (one instruction on AVX, whose shifts behave as PTX's do).
"""

from __future__ import annotations

from gridstride.virtual.ir.builder import Builder, Value, bits, constant, known
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Instruction


def shift_left(b: Builder, x: Value, by: Value) -> Value:
    """x << by; 0 from the width on. Amounts have x's type and count as unsigned."""
    amount = known(by)
    if amount is not None:
        return b.op("shl", x, by) if 0 <= amount < bits(x.type) else constant(x.type, 0)
    inside = b.compare("ult", by, constant(by.type, bits(x.type)))
    return b.select(inside, b.op("shl", x, by), constant(x.type, 0))


def shift_right(b: Builder, x: Value, by: Value, *, signed: bool = False) -> Value:
    """x >> by; from the width on 0, or the sign in every bit."""
    width, amount = bits(x.type), known(by)
    if amount is not None and 0 <= amount < width:
        return b.op("ashr" if signed else "lshr", x, by)
    if signed:
        return b.op("ashr", x, b.intrinsic("umin", by, constant(by.type, width - 1)))
    inside = b.compare("ult", by, constant(by.type, width))
    return b.select(inside, b.op("lshr", x, by), constant(x.type, 0))


def low_mask(b: Builder, length: Value) -> Value:
    """The low `length` bits set; all of them from the width on."""
    ones = constant(length.type, -1)
    return b.op("xor", shift_left(b, ones, length), ones)


def field(b: Builder, x: Value, start: int, size: int, *, signed: bool) -> Value:
    """Bits [start, start + size) of x, extended to x's type; both numbers known."""
    width = bits(x.type)
    if size == width:
        return x
    if signed:
        at_top = b.op("shl", x, constant(x.type, width - size - start)) if width - size - start else x
        return b.op("ashr", at_top, constant(x.type, width - size))
    right = b.op("lshr", x, constant(x.type, start)) if start else x
    return b.op("and", right, constant(x.type, (1 << size) - 1)) if start + size < width else right


def amounts(cx: Lowering, like: Value, *values: Value) -> list[Value]:
    """Shift amounts, lengths and positions (u32) in the type of the value they act on, saturated where it is narrow."""
    b, width = cx.b, bits(like.type)
    if width < 32:
        values = tuple(b.intrinsic("umin", v, constant(v.type, width)) for v in values)
    return [b.resize(v, f"i{width}") for v in values]


def _field_bounds(cx: Lowering, like: Value, *values: Value) -> list[Value]:
    """Positions and lengths of bit fields (u32), in the type of the value they act on.

    Of 32-bit values the low eight bits count. PTX says so of 64-bit ones too, but an H200 takes all 32 bits there: a
    position of 256 is past the end.
    """
    width = bits(like.type)
    if width == 32:
        return [cx.b.op("and", v, constant(v.type, 0xFF)) for v in values]
    return [cx.b.resize(v, f"i{width}") for v in values]


def count_ones(cx: Lowering, ins: Instruction) -> None:
    """popc; the result has 32 bits whatever the source has."""
    (x,) = cx.sources(ins.type)
    cx.set(ins.operands[0], cx.b.resize(cx.b.intrinsic("ctpop", x), "i32"))


def leading_zeros(cx: Lowering, x: Value) -> Value:
    """How many bits above the highest set one; the width for 0."""
    name = f"llvm.ctlz.{'v' + x.type[1 : x.type.index(' ')] if x.wide else ''}i{bits(x.type)}"
    return cx.b.call(x.type, name, x, constant("i1", False))


def count_leading(cx: Lowering, ins: Instruction) -> None:
    """clz."""
    (x,) = cx.sources(ins.type)
    cx.set(ins.operands[0], cx.b.resize(leading_zeros(cx, x), "i32"))


def find_leading(cx: Lowering, ins: Instruction) -> None:
    """bfind, bfind.shiftamt: the highest bit that differs from the sign; all ones where there is none."""
    b, t = cx.b, ins.type
    (x,) = cx.sources(t)
    width = bits(x.type)
    if t[0] == "s":
        x = b.op("xor", x, b.op("ashr", x, constant(x.type, width - 1)))
    zeros = b.resize(leading_zeros(cx, x), "i32")
    if "shiftamt" in ins.modifiers:
        none = b.compare("eq", zeros, constant(zeros.type, width))
        result = b.select(none, constant(zeros.type, -1), zeros)
    else:
        result = b.op("sub", constant(zeros.type, width - 1), zeros)
    cx.set(ins.operands[0], result)


def reverse(cx: Lowering, ins: Instruction) -> None:
    """brev."""
    (x,) = cx.sources(ins.type)
    cx.set(ins.operands[0], cx.b.intrinsic("bitreverse", x))


def extract_field(cx: Lowering, ins: Instruction) -> None:
    """bfe: what a signed field lacks past the top of a is filled with the sign."""
    b, t = cx.b, ins.type
    x, start, length = cx.sources(t, "u32", "u32")
    start, length = _field_bounds(cx, x, start, length)
    if t[0] == "u":
        moved = shift_right(b, x, start)
        cx.set(ins.operands[0], b.op("and", moved, low_mask(b, length)))
        return
    # The field's last bit goes to the top, then back down as far as the field is from the bottom.
    width = constant(x.type, bits(x.type))
    end = b.intrinsic("umin", b.op("add", start, length), width)
    above = b.op("sub", width, end)
    moved = b.op("shl", x, above)
    result = shift_right(b, moved, b.op("add", above, start), signed=True)
    empty = b.compare("eq", length, constant(length.type, 0))
    cx.set(ins.operands[0], b.select(empty, constant(x.type, 0), result), signed=True)


def insert_field(cx: Lowering, ins: Instruction) -> None:
    """bfi: the low bits of a in the place of bits of b."""
    b, t = cx.b, ins.type
    x, into, start, length = cx.sources(t, t, "u32", "u32")
    start, length = _field_bounds(cx, x, start, length)
    mask = shift_left(b, low_mask(b, length), start)
    moved = shift_left(b, x, start)
    # into ^ ((into ^ moved) & mask) takes `moved` where the mask is set.
    cx.set(ins.operands[0], b.op("xor", into, b.op("and", b.op("xor", into, moved), mask)))


def make_mask(cx: Lowering, ins: Instruction) -> None:
    """bmsk: `length` ones from bit `start` on."""
    b = cx.b
    start, length = cx.sources("u32", "u32")
    if "wrap" in ins.modifiers:
        start, length = (b.op("and", v, constant(v.type, 31)) for v in (start, length))
    cx.set(ins.operands[0], shift_left(b, low_mask(b, length), start))


def sign_extend(cx: Lowering, ins: Instruction) -> None:
    """szext: the low `length` bits of a, extended."""
    b, t = cx.b, ins.type
    x, length = cx.sources(t, "u32")
    if "wrap" in ins.modifiers:
        length = b.op("and", length, constant(length.type, 31))
    if t[0] == "u":
        cx.set(ins.operands[0], b.op("and", x, low_mask(b, length)))
        return
    above = b.intrinsic("usub.sat", constant(length.type, 32), length)
    moved = b.op("ashr", shift_left(b, x, above), b.intrinsic("umin", above, constant(above.type, 31)))
    cx.set(ins.operands[0], moved)


def find_nth(cx: Lowering, ins: Instruction) -> None:
    """fns: the |offset|-th set bit of a mask, from a base upwards or downwards; all ones where there is none.

    For the offset whose magnitude does not fit, -2³¹, an H200 gives 0.
    """
    b = cx.b
    mask, base, offset = cx.sources("b32", "u32", "s32")
    zero, one, top = (constant(mask.type, v) for v in (0, 1, 31))
    base = b.op("and", base, top)
    down = b.compare("slt", offset, zero)
    # Downwards is upwards in the reversed word.
    base_up = b.select(down, b.op("sub", top, base), base)
    word = b.select(down, b.intrinsic("bitreverse", mask), mask)
    at_base = b.compare("eq", offset, zero)
    reach = b.select(at_base, one, constant(mask.type, -1))  # an offset of 0 asks for the base bit alone
    word = b.op("and", word, b.op("shl", reach, base_up))
    n = b.select(at_base, zero, b.op("sub", b.select(down, b.op("sub", zero, offset), offset), one))
    is_below = b.compare("ult", n, b.intrinsic("ctpop", word))
    position = _nth(cx, word, n)
    position = b.select(down, b.op("sub", top, position), position)
    position = b.select(is_below, position, constant(mask.type, -1))
    lowest = b.compare("eq", offset, constant(offset.type, -(1 << 31)))
    cx.set(ins.operands[0], b.select(lowest, zero, position))


def _nth(cx: Lowering, word: Value, n: Value) -> Value:
    """The place of set bit number n (from 0), which must be there: a binary search by counting."""
    b = cx.b
    zero = constant(word.type, 0)
    position = zero
    for half in (16, 8, 4, 2, 1):
        below = b.intrinsic("ctpop", b.op("and", word, constant(word.type, (1 << half) - 1)))
        above = b.compare("uge", n, below)
        step = b.select(above, constant(word.type, half), zero)
        position = b.op("add", position, step)
        n = b.op("sub", n, b.select(above, below, zero))
        word = b.op("lshr", word, step)
    return position
