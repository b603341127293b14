"""Holds an instruction against the grammar of forms.py: says what does not fit and what is expected instead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from gridstride.virtual.ptx.errors import nearest, shown
from gridstride.virtual.ptx.forms import CLASSES, FORMS
from gridstride.virtual.ptx.module import (
    Address,
    Immediate,
    Negated,
    Operand,
    Pair,
    Register,
    Selected,
    Sink,
    Special,
    Symbol,
    TensorAddress,
    Vector,
)
from gridstride.virtual.ptx.types import TYPES


@dataclass(frozen=True, slots=True)
class Slot:
    """One operand of a line, its type settled. `kind`: value, address, tensor, constant, any or move."""

    kind: str
    type: str = ""
    target: bool = False
    sink: bool = False
    wider: bool = False
    vector: int = 0
    pair: str = ""
    optional: bool = False
    allowed: tuple[int, ...] = ()

    @property
    def words(self) -> str:
        """What a message calls it."""
        if self.kind == "value":
            what = f".{self.type}" + (" or wider" if self.wider else "")
            if self.vector:
                return f"a vector of {self.vector} of {what}"
            return f"a {what} register" if self.target else f"a {what} register or constant"
        if self.kind == "move":
            return f"what has the type .{self.type}"
        return {"part": "a 32-bit register, with a selector or without"}.get(self.kind) or {
            "address": "an address in brackets", "constant": "an integer constant"
        }.get(self.kind, "an operand")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Line:
    """One line of the grammar: sets of words with whether one must be there, and the operands."""

    modifiers: tuple[tuple[frozenset[str], bool], ...]
    operands: tuple[str, ...]

    def match(self, words: Sequence[str]) -> bool:
        """Whether every word finds a place of its own, types in order, and every place that must be filled is."""
        free = dict(enumerate(self.modifiers))
        last = -1
        for word in words:
            after = last if word in TYPES else -1
            place = next((i for i, (choice, _) in free.items() if word in choice and i > after), None)
            if place is None:
                return False
            del free[place]
            last = place if word in TYPES else last
        return not any(required for _, required in free.values())


@cache
def lines() -> Mapping[str, tuple[Line, ...]]:
    """The grammar by opcode."""
    found: dict[str, list[Line]] = {}
    for text in FORMS.replace("\\\n", " ").strip().splitlines():
        opcodes, _, rest = text.partition("|")
        modifiers, _, operands = rest.partition(" :")
        line = Line(tuple(map(_place, modifiers.split())), tuple(operands.split()))
        for opcode in opcodes.split():
            found.setdefault(opcode, []).append(line)
    return {opcode: tuple(known) for opcode, known in found.items()}


def _place(text: str) -> tuple[frozenset[str], bool]:
    inner = text.strip("[]")
    return frozenset(w for part in inner.split("/") for w in CLASSES.get(part, part).split("/")), inner == text


@cache
def form_of(opcode: str, modifiers: tuple[str, ...]) -> tuple[Slot, ...] | str | None:
    """The operands that an instruction of this name takes; a message where there is none such, None for opcodes that
    the grammar leaves out.
    """
    known = lines().get(opcode)
    if known is None or (opcode == "cp" and "bulk" in modifiers):
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
    kind = {"x": "any", "m": "move", "[]": "address", "[t]": "tensor", "v": "part"}.get(text.rstrip("="))
    if kind is not None:
        type_ = types[-1] if kind == "move" and types and size == 1 else "u32"
        whole = kind != "move" or size == 1
        return Slot(kind if whole else "any", type_, text.endswith("="), optional=optional)
    if text.startswith("#"):
        return Slot("constant", allowed=_numbers(text[1:]), optional=optional)
    name = text.rstrip("=_+*")
    flags = text[len(name) :]
    type_ = {"T": types[-1] if types else "", "T1": types[0] if types else "", "T2": types[1] if len(types) > 1 else ""}
    vector = size if "*" in flags else 0
    return Slot("value", type_.get(name, name), "=" in flags, "_" in flags, "+" in flags, vector, pair, optional)


def _numbers(text: str) -> tuple[int, ...]:
    """A range `a-b` or a list `a/b`; empty for any number."""
    if "-" in text:
        low, high = text.split("-")
        return tuple(range(int(low), int(high) + 1))
    return tuple(int(n) for n in text.split("/")) if text else ()


def _explain(opcode: str, modifiers: tuple[str, ...], known: Sequence[Line]) -> str:
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


def _score(line: Line, modifiers: Sequence[str]) -> int:
    has = sum(any(m in c for c, _ in line.modifiers) for m in modifiers)
    lacks = sum(required and not choice & set(modifiers) for choice, required in line.modifiers)
    return 2 * has - lacks


def _either(words: frozenset[str]) -> str:
    order = sorted(words)
    listed = [f".{w}" for w in order[:8]]
    return listed[0] if len(order) == 1 else f"one of {', '.join(listed)}{', …' if len(order) > 8 else ''}"


# -- operands ---------------------------------------------------------------------------------------------------------
def misfit(slots: Sequence[Slot], operands: Sequence[Operand], registers: Mapping[str, str]) -> tuple[int, str] | None:
    """(number of the operand, message) for the first that does not fit; None where all do."""
    least = next((i for i, slot in enumerate(slots) if slot.optional), len(slots))
    if not least <= len(operands) <= len(slots):
        wanted = str(least) if least == len(slots) else f"{least} to {len(slots)}"
        return -1, f"takes {wanted} operand{'' if wanted == '1' else 's'}, found {len(operands)}"
    for number, (slot, operand) in enumerate(zip(slots, operands, strict=False)):
        if slot.kind == "value" and type(operand) is Register and not slot.vector:  # the common case
            if _holds(slot, registers[operand.name]):
                continue
        elif _fits(slot, operand, registers):
            continue
        return number, f"expected {slot.words}, found {_described(operand, registers)}"
    return None


def _fits(slot: Slot, operand: Operand, registers: Mapping[str, str]) -> bool:
    if slot.kind == "any":
        return True
    if slot.kind == "move":
        return _moved(slot, operand, registers)
    if slot.kind == "part":
        return isinstance(operand, Selected) and registers[operand.register.name] in _WORDS or _word(slot, operand, registers)
    if slot.kind in ("address", "tensor"):
        return isinstance(operand, Address if slot.kind == "address" else TensorAddress) and _pointer(operand, registers)
    if slot.kind == "constant":
        whole = isinstance(operand, Immediate) and operand.kind == "int"
        return whole and (not slot.allowed or operand.bits in slot.allowed)  # type: ignore[union-attr]
    if isinstance(operand, Vector):
        return len(operand.items) == max(1, slot.vector) and all(_item(slot, item, registers) for item in operand.items)
    if slot.vector and not (slot.sink and isinstance(operand, Sink)):
        return False
    return _value(slot, operand, registers)


_WORDS = ("u32", "s32", "b32")


def _word(slot: Slot, operand: Operand, registers: Mapping[str, str]) -> bool:
    return not isinstance(operand, Vector | Special) and _value(slot, operand, registers)


def _moved(slot: Slot, operand: Operand, registers: Mapping[str, str]) -> bool:
    """What mov reads and writes: vectors of registers, constants or `_` have the size of the type together."""
    if isinstance(operand, Vector):
        sizes = {TYPES[registers[i.name]].bits for i in operand.items if isinstance(i, Register)}
        total = TYPES[slot.type].bits
        return TYPES[slot.type].kind == "bits" and len(sizes) <= 1 and all(n * len(operand.items) == total for n in sizes)
    if isinstance(operand, Register | Negated | Immediate):
        if isinstance(operand, Immediate) and slot.type == "b16":
            return not slot.target and operand.kind == "int"
        return _value(slot, operand, registers)
    return not slot.target and isinstance(operand, Symbol | Special | Address)


def _item(slot: Slot, item: Operand, registers: Mapping[str, str]) -> bool:
    return (isinstance(item, Sink) and slot.target) or _value(slot, item, registers)


def _value(slot: Slot, operand: Operand, registers: Mapping[str, str]) -> bool:
    match operand:
        case Register(name):
            return _holds(slot, registers[name])
        case Pair(first, second):
            beside = isinstance(second, Sink) or registers[second.name] == "pred"
            return bool(slot.pair) and beside and not isinstance(first, Vector) and _fits(slot, first, registers)
        case Sink():
            return slot.sink
        case Immediate(kind, _):
            return not slot.target and _constant(kind, slot)
        case Negated(register):
            return not slot.target and slot.type == "pred" and registers[register.name] == "pred"
        case Special():  # ptxas wants a mov or cvt here; what it means is clear
            return not slot.target and slot.type != "pred" and TYPES[slot.type].bits >= 32
    return False


def _pointer(operand: Address | TensorAddress, registers: Mapping[str, str]) -> bool:
    base = operand.base
    return not isinstance(base, Register) or TYPES[registers[base.name]].kind in ("bits", "unsigned", "signed")


@cache
def _compatible(register: str, type_: str, wider: bool) -> bool:
    """The rule of the ISA: the same size, and one of both a bit type or both of a kind; the halves' pairs and what
    has no register type of its own live in bit registers.
    """
    have, want = TYPES[register], TYPES[type_]
    if register == type_ or "pred" in (register, type_):
        return register == type_
    if have.bits != want.bits and not (wider and have.bits > want.bits and have.kind != "float"):
        return wider and have.kind == "float" and want.kind == "bits" and have.bits > want.bits
    if have.kind == "bits" or want.kind == "bits":
        return True
    if have.lanes > 1 or want.lanes > 1 or "float" in (have.kind, want.kind):
        return False
    return {have.kind, want.kind} <= {"signed", "unsigned"}


def _holds(slot: Slot, register: str) -> bool:
    return _compatible(register, slot.type, slot.wider)


def _constant(kind: str, slot: Slot) -> bool:
    info = TYPES[slot.type]
    if info.kind == "float" or info.lanes > 1:
        return kind != "int" and slot.type in ("f32", "f64")
    return kind == "int" or (info.kind == "bits" and (kind, info.bits) in (("f32", 32), ("f64", 64)))


def _described(operand: Operand, registers: Mapping[str, str]) -> str:
    match operand:
        case Register(name):
            return f"{shown(name)} of type .{registers[name]}"
        case Immediate(kind, _):
            return "an integer constant" if kind == "int" else "a floating-point constant"
        case Special(name, _):
            return f"the special register %{name}"
        case Symbol(name):
            return f"the name {shown(name)}, whose address mov gives"
        case Vector(items):
            return f"a vector of {len(items)}"
        case Selected(register, _):
            return f"a part of {shown(register.name)}"
    words = {Address: "an address", TensorAddress: "an address with coordinates", Sink: "'_'", Pair: "two destinations"}
    return words.get(type(operand), "something else")
