"""Holds an instruction's name against the grammar of forms.py: says what does not fit and what is expected instead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from gridstride.virtual.ptx.forms import CLASSES
from gridstride.virtual.ptx.isa import ISA
from gridstride.virtual.ptx.operand_fit import Slot
from gridstride.virtual.ptx.syntax_errors import nearest, shown
from gridstride.virtual.ptx.types import TYPES


@dataclass(frozen=True, slots=True)
class GrammarRule:
    """One line of the grammar: sets of words with whether one must be there, and the operands."""

    modifiers: tuple[tuple[frozenset[str], bool], ...]
    operands: tuple[str, ...]

    def match(self, words: Sequence[str]) -> bool:
        """Whether every word finds a place of its own, types in order, and every place that must be filled is."""
        free = dict(enumerate(self.modifiers))
        last = -1
        for word in words:
            after = last if word in TYPES else -1
            index = next((i for i, (choice, _) in free.items() if word in choice and i > after), None)
            if index is None:
                return False
            del free[index]
            last = index if word in TYPES else last
        return not any(required for _, required in free.values())


@cache
def lines(opcode: str) -> tuple[GrammarRule, ...]:
    """The grammar of an opcode."""
    parts = [text.partition(" :") for text in ISA[opcode].forms]
    return tuple(
        GrammarRule(tuple(map(_place, words.split())), tuple(operands.split())) for words, _, operands in parts
    )


def _place(text: str) -> tuple[frozenset[str], bool]:
    inner = text.strip("[]")
    return frozenset(w for part in inner.split("/") for w in CLASSES.get(part, part).split("/")), inner == text


_BULK = {"async", "bulk"}
_GROUPS = {"commit_group", "wait_group"}


@cache
def form_of(opcode: str, modifiers: tuple[str, ...]) -> tuple[Slot, ...] | str | None:
    """The operands that an instruction of this name takes; a message where there is none such, None for opcodes that
    the grammar leaves out.
    """
    known = lines(opcode)
    if not known or (opcode == "cp" and set(modifiers) >= _BULK and not _GROUPS & set(modifiers)):
        return None
    types = [m for m in modifiers if m in TYPES]
    for line in known:
        if line.match(modifiers):
            size = next((_SIZES[m] for m in modifiers if m in _SIZES), 1)
            return tuple(_slot(text, types, size) for text in line.operands)
    return _explain(opcode, modifiers, known)


_SIZES = {"v2": 2, "v4": 4, "v8": 8, "x1": 1, "x2": 2, "x4": 4}


def _slot(text: str, types: Sequence[str], size: int) -> Slot:
    optional = text.endswith("?") and not text.endswith("|p?")
    text = text.rstrip("?") if optional else text
    text, _, pair = text.partition("|")
    special = {"x": "any", "m": "move", "[]": "address", "[t]": "tensor", "v": "part"}.get(text.rstrip("="))
    if special is not None:
        is_single = special != "move" or size == 1
        moved = types[-1] if special == "move" and types and is_single else "u32"
        return Slot(special if is_single else "any", moved, text.endswith("="), optional=optional)
    if text.startswith("#"):
        return Slot("constant", allowed=_numbers(text[1:]), optional=optional)
    name = text.rstrip("=_+*")
    flags = text[len(name) :]
    own = {"T": types[-1] if types else "", "T1": types[0] if types else "", "T2": types[1] if len(types) > 1 else ""}
    vector = size if "*" in flags else 0
    return Slot("value", own.get(name, name), "=" in flags, "_" in flags, "+" in flags, vector, pair, optional)


def _numbers(text: str) -> tuple[int, ...]:
    """A range `a-b`, perhaps in steps `+s`, or a list `a/b`; empty for any number."""
    if "-" in text:
        ends, _, step = text.partition("+")
        low, high = ends.split("-")
        return tuple(range(int(low), int(high) + 1, int(step or 1)))
    return tuple(int(n) for n in text.split("/")) if text else ()


def _explain(opcode: str, modifiers: tuple[str, ...], known: Sequence[GrammarRule]) -> str:
    """Which modifier has no place, or is missing, by the line that comes nearest."""
    words = {w for line in known for choice, _ in line.modifiers for w in choice}
    for modifier in modifiers:
        if modifier not in words:
            return f"{opcode!r} has no modifier {shown('.' + modifier)}{nearest(modifier, words)}"
    line = max(known, key=lambda line: _score(line, modifiers))
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
    order = sorted(words)
    listed = [f".{w}" for w in order[:8]]
    return listed[0] if len(order) == 1 else f"one of {', '.join(listed)}{', …' if len(order) > 8 else ''}"
