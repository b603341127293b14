"""What one instruction makes of linear values: the integer instructions that indices and addresses are built from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.lowering.analysis import affine
from gridstride.virtual.lowering.analysis.affine import LANE, Affine, Scalars
from gridstride.virtual.ptx.isa import ISA, Uniformity, complete
from gridstride.virtual.ptx.module import Immediate, Instruction, Operand, Register

Lookup = Callable[[Operand, int], Affine | None]
"""The value of an operand; a constant takes the given width."""
_WIDTH = {"s32": 32, "u32": 32, "b32": 32, "s64": 64, "u64": 64, "b64": 64}


@dataclass(frozen=True, slots=True)
class BlockShape:
    """What the shape of a thread block says about a warp when the code is generated.

    `kind`: "rows" (x a multiple of 32: a warp lies in one row), "line" (only x is above 1), "tile" (x is a power of two
    below 32, z is 1: a warp is 32 / x rows) or "any". `full`: every warp has all its lanes.
    """

    kind: str
    x: int
    full: bool

    @staticmethod
    def of(x: int, y: int, z: int) -> BlockShape:
        full = x * y * z % LANES == 0
        if x % LANES == 0:
            return BlockShape("rows", 0, True)
        if y == z == 1:
            return BlockShape("line", 0, full)
        if z == 1 and x & (x - 1) == 0:
            return BlockShape("tile", x, full)
        return BlockShape("any", 0, full)

    def thread(self, axis: int, base: object) -> Affine | None:
        """%tid on an axis, given the lane 0 value; None where it has no linear form."""
        if self.kind == "any":
            return None
        if self.kind == "tile":
            forms = (tuple(i % self.x for i in LANE), tuple(i // self.x for i in LANE), affine.ZERO)
            align = (affine.ANY_ALIGN, LANES // self.x, affine.ANY_ALIGN)[axis]
            return Affine(32, base, forms[axis], align=align, top=1023)
        if axis == 0:
            return Affine(32, base, LANE, align=LANES, top=1023)
        return Affine(32, base, align=1 if self.kind == "rows" else affine.ANY_ALIGN, top=1023)


def linear_result(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    """The linear form of the instruction's result, or None where it has none that is known here."""
    rule = _RULES.get(ins.opcode)
    if rule is None or not ins.types or ins.types[0] not in _WIDTH or "cc" in ins.modifiers:
        return None
    if not isinstance(ins.operands[0], Register):
        return None  # a mov that takes a value apart
    return rule(s, ins, value)


def _immediate_integer(operand: Operand) -> int | None:
    return operand.bits if isinstance(operand, Immediate) and operand.kind == "int" else None


def _operands(ins: Instruction, value: Lookup) -> tuple[Affine | None, Affine | None]:
    width = _WIDTH[ins.types[0]]
    return value(ins.operands[1], width), value(ins.operands[2], width)


def _add(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    a, b = _operands(ins, value)
    return None if a is None or b is None or "sat" in ins.modifiers else affine.add(s, a, b)


def _sub(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    a, b = _operands(ins, value)
    return None if a is None or b is None or "sat" in ins.modifiers else affine.subtract(s, a, b)


def _product(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    a, b = _operands(ins, value)
    if a is None or b is None:
        return None
    for factor, operand in ((_immediate_integer(ins.operands[2]), a), (_immediate_integer(ins.operands[1]), b)):
        if factor is not None:
            return affine.scale(s, operand, factor)
    if b.uniform:
        return affine.multiply(s, a, b)
    return affine.multiply(s, b, a) if a.uniform else None


def _wide(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    signed = ins.types[0] == "s32"
    a, b = _operands(ins, value)
    if a is None or b is None or ins.types[0] not in ("s32", "u32"):
        return None
    factor = _immediate_integer(ins.operands[2])
    if factor is not None:
        factor = factor & 0xFFFFFFFF if not signed else affine._signed(factor, 32)
        longer = affine.extend(s, a, signed)
        return affine.scale(s, longer, factor) if longer else None
    if not (a.uniform or b.uniform):
        return None
    a, b = (a, b) if b.uniform else (b, a)
    longer, times = affine.extend(s, a, signed), affine.extend(s, b, signed)
    return affine.multiply(s, longer, times) if longer and times else None


def _mul(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    if "wide" in ins.modifiers:
        return _wide(s, ins, value)
    return _product(s, ins, value) if "lo" in ins.modifiers else None


def _mad(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    product = _mul(s, ins, value)
    c = value(ins.operands[3], 64 if "wide" in ins.modifiers else _WIDTH[ins.types[0]])
    return None if product is None or c is None or "sat" in ins.modifiers else affine.add(s, product, c)


def _shl(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    a, by = value(ins.operands[1], _WIDTH[ins.types[0]]), _immediate_integer(ins.operands[2])
    if a is None or by is None or not 0 <= by < a.width:
        return None
    return affine.scale(s, a, 1 << by)


def _shr(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    a, by = value(ins.operands[1], _WIDTH[ins.types[0]]), _immediate_integer(ins.operands[2])
    return None if a is None or by is None or by < 0 else affine.shift_right(s, a, by, ins.types[0][0] == "s")


def _and(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    a, c = value(ins.operands[1], _WIDTH[ins.types[0]]), _immediate_integer(ins.operands[2])
    return None if a is None or c is None else affine.bit_and(s, a, c)


def _or(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    a, c = value(ins.operands[1], _WIDTH[ins.types[0]]), _immediate_integer(ins.operands[2])
    return None if a is None or c is None else affine.bit_or(s, a, c)


def _mov(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    return value(ins.operands[1], _WIDTH[ins.types[0]])


def _cvta(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    # Global and const addresses are generic already; shared and local windows have a base of their own, and a
    # parameter's address may come with half of its bits.
    return value(ins.operands[1], 64) if {"global", "const"} & set(ins.modifiers) else None


def _cvt(s: Scalars, ins: Instruction, value: Lookup) -> Affine | None:
    if len(ins.types) != 2:
        return None
    to, source = ins.types
    a = value(ins.operands[1], _WIDTH[source]) if source in _WIDTH else None
    if a is None or "sat" in ins.modifiers:
        return None
    if a.width > _WIDTH[source]:  # cvt may name the low half of a wider register
        a = affine.truncate(s, a)
    if a is None or a.width < _WIDTH[source]:
        return None
    if _WIDTH[to] == _WIDTH[source]:
        return a
    return affine.extend(s, a, source[0] == "s") if _WIDTH[to] == 64 else affine.truncate(s, a)


_RULES: dict[str, Callable[[Scalars, Instruction, Lookup], Affine | None]] = {
    "add": _add, "sub": _sub, "mul": _mul, "mad": _mad, "shl": _shl, "shr": _shr, "and": _and, "or": _or,
    "mov": _mov, "cvta": _cvta, "cvt": _cvt,
}  # fmt: skip
complete("affine_transfer.py", _RULES, (name for name, row in ISA.items() if row.result is Uniformity.AFFINE))
