"""prmt: four bytes picked out of eight."""

from __future__ import annotations

from collections.abc import Callable

from gridstride.virtual.lowering.bits import one_type
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.ir import Value, constant, count, vector_constant
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
    one_type(cx, ins, "b32", _MODES)
    mode = _MODES.get(ins.modifiers[-1])
    low, high, control = cx.sources("b32", "b32", "b32")
    known = ins.operands[3]
    if isinstance(known, Immediate):
        number = known.bits & 0xFFFF if mode is None else _selector(mode, known.bits & 3)
        cx.set(ins.operands[0], _known(cx, low, high, number))
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
        here = b.compare("eq", n, constant(n.type, i))
        chosen = b.select(here, constant(n.type, _selector(mode, i)), chosen)
    return chosen


def _known(cx: Lowering, low: Value, high: Value, selector: int) -> Value:
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
    """Byte by byte, out of b:a as one 64-bit word."""
    b = cx.b
    word = b.resize(low, "i64")
    word = b.op("or", word, b.op("shl", b.resize(high, "i64"), constant(word.type, 32)))
    selector = b.resize(selector, "i64")
    result: Value | None = None
    for i in range(4):
        nibble = b.op("lshr", selector, constant(selector.type, 4 * i))
        by = b.op("shl", b.op("and", nibble, constant(nibble.type, 7)), constant(nibble.type, 3))
        byte = b.cast("trunc", b.op("lshr", word, by), "i8")
        signed = b.compare("ne", b.op("and", nibble, constant(nibble.type, 8)), constant(nibble.type, 0))
        byte = b.select(signed, b.op("ashr", byte, constant(byte.type, 7)), byte)
        placed = b.op("shl", b.resize(byte, "i32"), constant(low.type, 8 * i))
        result = placed if result is None else b.op("or", result, placed)
    assert result is not None
    return result


FAMILY = {"prmt": permute}
