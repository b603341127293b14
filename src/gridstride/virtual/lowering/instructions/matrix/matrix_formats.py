"""The elements of matrix instructions: out of packed registers into f32, whose products are then exact.

The exponent that a term is aligned by is its own, except that of a subnormal, which is the smallest normal one's. 8-bit
floats become halves first, as Hopper's mma.sync does with them, so theirs are the halves'.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.ir import fp8, half
from gridstride.virtual.ir.builder import Builder, Value, constant

NOTHING = -2000
"""The exponent of a zero: its product with anything has one below `PRODUCT`."""

PRODUCT = -1000
SPECIAL = 16000
"""The exponent of infinities and NaNs: their product with anything, zero included, has one above all finite ones."""


@dataclass(frozen=True, slots=True)
class ElementFormat:
    """An element type of A and B: its width in a register and its smallest exponent."""

    name: str
    bits: int
    lowest: int = 0

    @property
    def floating(self) -> bool:
        return self.lowest < 0


FORMATS = {
    f.name: f
    for f in (
        ElementFormat("f16", 16, -14), ElementFormat("bf16", 16, -126), ElementFormat("tf32", 32, -126),
        ElementFormat("f64", 64), ElementFormat("e4m3", 8, -14), ElementFormat("e5m2", 8, -14), ElementFormat("s8", 8),
        ElementFormat("u8", 8), ElementFormat("s4", 4), ElementFormat("u4", 4), ElementFormat("b1", 1),
    )
}  # fmt: skip


def element(b: Builder, words: Value, kind: ElementFormat, item: int) -> Value:
    """Element `item` of each register (i32), lowest first, as f32."""
    if kind.name == "f16":
        return half.widen(b, b.resize(_down(b, words, 16 * item), "i16"), half.F16)
    if kind.name == "bf16":
        masked = b.op("and", words, constant(words.type, -65536)) if item else _up(b, words, 16)
        return b.cast("bitcast", masked, "float")
    if kind.name == "tf32":
        return b.cast("bitcast", b.op("and", words, constant(words.type, ~0x1FFF)), "float")
    if kind.floating:
        code = b.op("and", _down(b, words, 8 * item), constant(words.type, 0xFF))
        return fp8.decode(b, code, fp8.E4M3 if kind.name == "e4m3" else fp8.E5M2)
    top = _up(b, words, 32 - kind.bits * (item + 1))
    shifted = b.op("ashr" if kind.name[0] == "s" else "lshr", top, constant(top.type, 32 - kind.bits))
    return b.cast("sitofp", shifted, "float")


def _down(b: Builder, words: Value, by: int) -> Value:
    return b.op("lshr", words, constant(words.type, by)) if by else words


def _up(b: Builder, words: Value, by: int) -> Value:
    return b.op("shl", words, constant(words.type, by)) if by else words


def exponents(b: Builder, x: Value, lowest: int, zero: int = NOTHING) -> Value:
    """The exponent of each f32 as i32: at least `lowest`, `zero` of zeros, SPECIAL of infinities and NaNs."""
    word = b.cast("bitcast", x, "i32")
    size = b.op("and", word, constant(word.type, 0x7FFFFFFF))
    field = b.op("sub", b.op("lshr", size, constant(size.type, 23)), constant(size.type, 127))
    exponent = b.intrinsic("smax", field, constant(field.type, lowest))
    exponent = b.select(b.compare("uge", size, constant(size.type, 0x7F800000)), constant(size.type, SPECIAL), exponent)
    return b.select(b.compare("eq", size, constant(size.type, 0)), constant(size.type, zero), exponent)
