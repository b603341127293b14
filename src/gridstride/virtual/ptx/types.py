"""PTX scalar types: width, size, alignment and class of each (PTX ISA 9.x, "Types" and "Fundamental Types")."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """One PTX type. `lanes` is above 1 for packed types, whose elements are of type `element`.

    `kind`: bits, unsigned, signed, float, pred or opaque (texref, samplerref, surfref).
    """

    name: str
    kind: str
    bits: int
    lanes: int = 1
    element: str = ""

    @property
    def size(self) -> int:
        """Bytes in memory (a predicate, which has no place in memory, counts 1)."""
        return max(1, self.bits // 8)

    @property
    def align(self) -> int:
        """Natural alignment in bytes: the size."""
        return self.size


_SCALARS = {
    "bits": ("b1:1", "b4:4", "b6:6", "b8:8", "b16:16", "b32:32", "b64:64", "b128:128"),
    "unsigned": ("u2:2", "u4:4", "u8:8", "u16:16", "u32:32", "u64:64"),
    "signed": ("s2:2", "s4:4", "s8:8", "s16:16", "s32:32", "s64:64"),
    "float": (
        *("f16:16", "f32:32", "f64:64", "bf16:16", "tf32:32"),
        *("e4m3:8", "e5m2:8", "e3m2:6", "e2m3:6", "e2m1:4", "ue8m0:8", "ue4m3:8", "s2f6:8"),
    ),
    "pred": ("pred:1",),
    "opaque": ("texref:64", "samplerref:64", "surfref:64"),
}

# Packed types; six-bit floats take 8 bits each, and two four-bit floats 8 bits, as `cvt` packs them.
_PACKED = {
    "f16x2": ("f16", 32),
    "bf16x2": ("bf16", 32),
    "f32x2": ("f32", 64),
    "u16x2": ("u16", 32),
    "s16x2": ("s16", 32),
    "u8x4": ("u8", 32),
    "s8x4": ("s8", 32),
    "e4m3x2": ("e4m3", 16),
    "e5m2x2": ("e5m2", 16),
    "e3m2x2": ("e3m2", 16),
    "e2m3x2": ("e2m3", 16),
    "e2m1x2": ("e2m1", 8),
    "ue8m0x2": ("ue8m0", 16),
    "s2f6x2": ("s2f6", 16),
    "e4m3x4": ("e4m3", 32),
    "e5m2x4": ("e5m2", 32),
    "e3m2x4": ("e3m2", 32),
    "e2m3x4": ("e2m3", 32),
    "e2m1x4": ("e2m1", 16),
}


def _table() -> Iterator[Type]:
    for kind, entries in _SCALARS.items():
        for entry in entries:
            name, bits = entry.split(":")
            yield Type(name, kind, int(bits), 1, name)
    for name, (element, width) in _PACKED.items():
        kind = "float" if element[0] not in "us" or element.startswith(("ue", "s2f")) else _SIGN[element[0]]
        yield Type(name, kind, width, int(name[-1]), element)


_SIGN = {"u": "unsigned", "s": "signed"}

TYPES: dict[str, Type] = {entry.name: entry for entry in _table()}

# What `.reg`, `.param`, `.global` … may declare: the fundamental types, the packed halves and the opaque references.
DECLARABLE: frozenset[str] = frozenset(
    [
        *("b8", "b16", "b32", "b64", "b128", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64"),
        *("f16", "f16x2", "bf16", "bf16x2", "f32", "f64", "f32x2", "tf32", "e4m3", "e5m2", "e4m3x2", "e5m2x2"),
        *("pred", "texref", "samplerref", "surfref"),
    ]
)
