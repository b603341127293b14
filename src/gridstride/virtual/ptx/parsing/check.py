"""Holds an instruction's name against the grammar of forms.py: says what does not fit and what is expected instead."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from gridstride.virtual.ptx.forms import CLASSES
from gridstride.virtual.ptx.isa import ISA
from gridstride.virtual.ptx.operand_fit import Slot
from gridstride.virtual.ptx.syntax_errors import nearest, shown
from gridstride.virtual.ptx.types import TYPES

_ORDERED = frozenset({*TYPES, "row", "col", "global", "shared", "shared::cta", "shared::cluster"})
"""Words whose order says which operand they are about: types, layouts of A and B, where a copy goes and comes from."""


@dataclass(frozen=True, slots=True)
class GrammarRule:
    """One line of the grammar: sets of words with whether one must be there, and the operands."""

    modifiers: tuple[tuple[frozenset[str], bool], ...]
    operands: tuple[str, ...]

    def match(self, words: Sequence[str]) -> bool:
        """Whether each word finds a place of its own, ordered ones in their order, and none is missing."""
        free = dict(enumerate(self.modifiers))
        last = -1
        for word in words:
            ordered = word in _ORDERED
            last_index = last if ordered else -1
            index = next((i for i, (choice, _) in free.items() if word in choice and i > last_index), None)
            if index is None:
                return False
            del free[index]
            last = index if ordered else last
        return not any(required for _, required in free.values())


@cache
def lines(opcode: str) -> tuple[GrammarRule, ...]:
    """The grammar of an opcode."""
    parts = [text.partition(" :") for text in ISA[opcode].forms]
    return tuple(
        GrammarRule(tuple(map(_modifier_choice, words.split())), tuple(operands.split()))
        for words, _, operands in parts
    )


def _modifier_choice(text: str) -> tuple[frozenset[str], bool]:
    inner = text.strip("[]")
    return frozenset(w for part in inner.split("/") for w in CLASSES.get(part, part).split("/")), inner == text


@cache
def forms_of(opcode: str, modifiers: tuple[str, ...]) -> tuple[tuple[Slot, ...], ...] | str:
    """The operands that an instruction of this name takes, mostly one choice of them, none for opcodes that the grammar
    leaves out; a message where there is none such.
    """
    rules = lines(opcode)
    counts = _Counts.of(modifiers)
    fitting = [tuple(counts.slot(text) for text in line.operands) for line in rules if line.match(modifiers)]
    return _explain(opcode, modifiers, rules) if rules and not fitting else tuple(dict.fromkeys(fitting))


_SIZES = {"v2": 2, "v4": 4, "v8": 8, "x1": 1, "x2": 2, "x4": 4}
_COORDINATES = {"1d": 1, "2d": 2, "3d": 3, "4d": 4, "5d": 5, "a1d": 2, "a2d": 3, "cube": 3, "acube": 4,
                "2dms": 3, "a2dms": 4}  # fmt: skip
"""Of a tensor's dimensions; of a texture's shape, with the layer and the sample."""

_KINDS = {"x": "any", "m": "move", "v": "part", "[]": "address", "[t]": "tensor", "[h]": "handle", "[o]": "object"}


@dataclass(frozen=True, slots=True)
class _Counts:
    """What the modifiers of one instruction say of its operands: types, and how many of each there are."""

    types: tuple[str, ...]
    size: int
    coordinates: int
    columns: int

    @classmethod
    def of(cls, modifiers: Sequence[str]) -> _Counts:
        shapes = (re.fullmatch(r"m\d+n(\d+)k\d+", m) for m in modifiers)
        return cls(
            types=tuple(m for m in modifiers if m in TYPES),
            size=next((_SIZES[m] for m in modifiers if m in _SIZES), 1),
            coordinates=next((_COORDINATES[m] for m in modifiers if m in _COORDINATES), 0),
            columns=next((int(shape[1]) for shape in shapes if shape), 0),
        )

    def slot(self, text: str) -> Slot:
        optional = text.endswith("?") and not text.endswith("|p?")
        text = text.rstrip("?") if optional else text
        text, _, pair = text.partition("|")
        kind = _KINDS.get(text.rstrip("="))
        if kind in ("tensor", "object"):
            return Slot(kind, vector=self.coordinates)
        if kind is not None:
            is_single = kind != "move" or self.size == 1
            moved = self.types[-1] if kind == "move" and self.types and is_single else "u32"
            return Slot(kind if is_single else "any", moved, text.endswith("="), optional=optional)
        if text.startswith("#"):
            return Slot("constant", allowed=_numbers(text[1:]), optional=optional)
        text, star, count = text.partition("*")
        name = text.rstrip("=_+")
        flags = text[len(name) :]
        vector = self._vector(count) if star else 0
        return Slot("value", self._type(name), "=" in flags, "_" in flags, "+" in flags, vector, pair, optional)

    def _type(self, name: str) -> str:
        at = {"T": -1, "T1": 0, "T2": 1}.get(name)
        if at is None:
            return name
        return self.types[at] if len(self.types) > max(at, 0) else ""

    def _vector(self, count: str) -> int:
        if count.startswith("n/"):
            return self.columns // int(count[2:])
        return self.coordinates - int(count[2:]) if count.startswith("d-") else int(count or self.size)


def _numbers(text: str) -> tuple[int, ...]:
    """A range `a-b`, perhaps in steps `+s`, or a list `a/b`; empty for any number."""
    if "-" in text and "/" not in text:
        ends, _, step = text.partition("+")
        low, high = ends.split("-")
        return tuple(range(int(low), int(high) + 1, int(step or 1)))
    return tuple(int(n) for n in text.split("/")) if text else ()


def _explain(opcode: str, modifiers: tuple[str, ...], rules: Sequence[GrammarRule]) -> str:
    """Which modifier has no place, or is missing, by the line that comes nearest."""
    words = {w for line in rules for choice, _ in line.modifiers for w in choice}
    for modifier in modifiers:
        if modifier not in words:
            return f"{opcode!r} has no modifier {shown('.' + modifier)}{nearest(modifier, words)}"
    line = max(rules, key=lambda line: _score(line, modifiers))
    fitting = [c for c, required in line.modifiers if required and not c & set(modifiers)]
    if fitting:
        return f"{opcode!r} of this kind needs {_either(fitting[0])}"
    extra = [m for m in modifiers if not any(m in c for c, _ in line.modifiers)]
    return f"{opcode!r} cannot have {shown('.' + (extra or list(modifiers))[0])} together with its other modifiers"


def _score(line: GrammarRule, modifiers: Sequence[str]) -> int:
    has = sum(any(m in c for c, _ in line.modifiers) for m in modifiers)
    lacks = sum(required and not choice & set(modifiers) for choice, required in line.modifiers)
    return 2 * has - lacks


def _either(words: frozenset[str]) -> str:
    order = sorted(words, key=lambda word: re.sub(r"\d+", lambda number: number[0].zfill(4), word))  # n8 before n16
    listed = [f".{w}" for w in order[:8]]
    return listed[0] if len(order) == 1 else f"one of {', '.join(listed)}{', …' if len(order) > 8 else ''}"
