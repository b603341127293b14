"""prmt: four bytes picked out of eight."""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.ir.builder import Value, constant, count, vector_constant
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.ptx.module import Immediate, Instruction

_MODES: dict[str, Callable[[int, int], int]] = {
    "f4e": lambda n, i: n + i,
    "b4e": lambda n, i: (n - i) & 7,
    "rc8": lambda n, i: n,
    "ecl": lambda n, i: max(n, i),
    "ecr": lambda n, i: min(n, i),
    "rc16": lambda n, i: 2 * (n & 1) + (i & 1),
}
"""Which byte of b:a goes to byte i, given the two low bits of c."""


def permute(cx: Lowering, ins: Instruction) -> None:
    """prmt and its modes; bit 3 of a selector replicates the sign of the byte it names."""
    mode = _MODES.get(ins.modifiers[-1])
    low, high, control = cx.sources("b32", "b32", "b32")
    last_operand = ins.operands[3]
    if isinstance(last_operand, Immediate):
        number = last_operand.bits & 0xFFFF if mode is None else _selector(mode, last_operand.bits & 3)
        cx.set(ins.operands[0], _permute_constant(cx, low, high, number))
        return
    selector = control if mode is None else _of_mode(cx, mode, control)
    cx.set(ins.operands[0], _any(cx, low, high, selector))


def _selector(mode: Callable[[int, int], int], n: int) -> int:
    """A mode's choice as the selector of the default mode."""
    return sum(mode(n, i) << 4 * i for i in range(4))


def _of_mode(cx: Lowering, mode: Callable[[int, int], int], control: Value) -> Value:
    b = cx.b
    n = b.op("and", control, constant(control.type, 3))
    chosen = constant(n.type, _selector(mode, 3))
    for i in range(3):
        matches = b.compare("eq", n, constant(n.type, i))
        chosen = b.select(matches, constant(n.type, _selector(mode, i)), chosen)
    return chosen


def _permute_constant(cx: Lowering, low: Value, high: Value, selector: int) -> Value:
    """One shuffle of bytes, and a mask of those that become their sign."""
    b, lanes = cx.b, count(low.type)
    nibbles = [selector >> 4 * i & 15 for i in range(4)]
    x, y = (b.bitcast(v, f"<{4 * lanes} x i8>") for v in (low, high))
    picks = [n & 3 for n in nibbles]
    shift = [4 * lanes if n & 4 else 0 for n in nibbles]
    bytes_ = b.shuffle(x, [4 * lane + p + s for lane in range(lanes) for p, s in zip(picks, shift, strict=True)], y)
    if any(n & 8 for n in nibbles):
        spread = vector_constant("i8", [7 if n & 8 else 0 for _ in range(lanes) for n in nibbles])
        bytes_ = b.op("ashr", bytes_, spread)
    return b.bitcast(bytes_, low.type)


def _any(cx: Lowering, low: Value, high: Value, selector: Value) -> Value:
    """Byte by byte: bit 2 of a nibble picks the word, bits 0 and 1 the byte in it."""
    b = cx.b
    zero = constant(low.type, 0)
    parts = []
    for i in range(4):
        nibble = b.op("lshr", selector, constant(selector.type, 4 * i)) if i else selector
        upper, signed = (b.compare("ne", b.op("and", nibble, constant(low.type, n)), zero) for n in (4, 8))
        by = b.op("shl", b.op("and", nibble, constant(low.type, 3)), constant(low.type, 3))
        word = b.op("lshr", b.select(upper, high, low), by)
        sign = b.op("ashr", b.op("shl", word, constant(low.type, 24)), constant(low.type, 31))
        byte = b.op("and", b.select(signed, sign, word), constant(low.type, 0xFF))
        parts.append(b.op("shl", byte, constant(low.type, 8 * i)) if i else byte)
    return b.op("or", b.op("or", parts[0], parts[1]), b.op("or", parts[2], parts[3]))
