"""Whether the operands of an instruction are what its form takes, and what to say where one is not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

from gridstride.virtual.ptx.module import (
    Address,
    DestinationPair,
    Immediate,
    Negated,
    Operand,
    Register,
    Selected,
    Sink,
    Special,
    Symbol,
    TensorAddress,
    Vector,
)
from gridstride.virtual.ptx.syntax_errors import shown
from gridstride.virtual.ptx.types import TYPES


@dataclass(frozen=True, slots=True)
class Slot:
    """One operand of a line, its type settled. `kind`: see `_KINDS` in check.py; also value and constant."""

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
            beside = " and a predicate behind `|`" if self.pair == "p" else ""
            return f"a {what} register{beside}" if self.target else f"a {what} register or constant"
        if self.kind == "move":
            return f"what has the type .{self.type}"
        if self.kind == "constant":
            return f"the constant {self.allowed[0]}" if len(self.allowed) == 1 else f"an integer constant{self._choice}"
        coordinates = _coordinates(self.vector)
        named = {
            "part": "a 32-bit register, with a selector or without",
            "address": "an address in brackets",
            "handle": "an object in brackets, in a 64-bit register",
            "object": f"an object in brackets, in a 64-bit register, with {coordinates} or more",
            "tensor": f"the address of a tensor map in brackets, with {coordinates}",
        }
        return named.get(self.kind, "an operand")

    @property
    def _choice(self) -> str:
        """Which constants, where only some will do."""
        if not self.allowed:
            return ""
        if len(self.allowed) <= 4:
            return " out of " + ", ".join(map(str, self.allowed))
        first, second, *_, last = self.allowed
        return f" {first} to {last}" + (f" in steps of {second - first}" if second > first + 1 else "")


def _coordinates(count: int) -> str:
    return f"{count} coordinate{'' if count == 1 else 's'}"


def misfit(slots: Sequence[Slot], operands: Sequence[Operand], registers: Mapping[str, str]) -> tuple[int, str] | None:
    """(number of the operand, message) for the first that does not fit; None where all do."""
    least = next((i for i, slot in enumerate(slots) if slot.optional), len(slots))
    if not least <= len(operands) <= len(slots):
        expected = str(least) if least == len(slots) else f"{least} to {len(slots)}"
        return -1, f"takes {expected} operand{'' if expected == '1' else 's'}, found {len(operands)}"
    for number, (slot, operand) in enumerate(zip(slots, operands, strict=False)):
        if slot.kind == "value" and type(operand) is Register and not slot.vector and slot.pair != "p":  # most are
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
        return (isinstance(operand, Selected) and registers[operand.register.name] in _WORDS) or _word(
            slot, operand, registers
        )
    if slot.kind == "address":
        return isinstance(operand, Address) and _pointer(operand, registers)
    if slot.kind in ("tensor", "object", "handle"):
        return _has_coordinates(slot, operand, registers)
    if slot.kind == "constant":
        is_integer = isinstance(operand, Immediate) and operand.kind == "int"
        return is_integer and (not slot.allowed or operand.bits in slot.allowed)  # type: ignore[union-attr]
    if isinstance(operand, DestinationPair):
        return _pair(slot, operand, registers)
    if slot.pair == "p":
        return False
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
        return (
            TYPES[slot.type].kind == "bits" and len(sizes) <= 1 and all(n * len(operand.items) == total for n in sizes)
        )
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
        case Sink():
            return slot.sink
        case Immediate(kind, _):
            return not slot.target and _constant(kind, slot)
        case Negated(register):
            return not slot.target and slot.type == "pred" and registers[register.name] == "pred"
        case Special():  # ptxas wants a mov or cvt here; what it means is clear
            least = 16 if slot.wider else 32  # old PTX has 16 bits in %tid and its like, which cvt widens
            return not slot.target and slot.type != "pred" and TYPES[slot.type].bits >= least
    return False


def _pair(slot: Slot, operand: DestinationPair, registers: Mapping[str, str]) -> bool:
    first, second = operand.destination, operand.predicate
    if not slot.pair or isinstance(first, Vector) != bool(slot.vector):
        return False
    beside = isinstance(second, Sink) or registers[second.name] == "pred"
    return beside and _fits(replace(slot, pair=""), first, registers)


_COORDINATE = Slot("value", "b32")
_HANDLE = Slot("value", "b64")


def _has_coordinates(slot: Slot, operand: Operand, registers: Mapping[str, str]) -> bool:
    """Tensor maps and objects. Of references, which the modules of old have in place of objects, there are names."""
    if slot.kind == "handle":
        return isinstance(operand, Address) and not operand.offset and _object(operand.base, registers)
    if not isinstance(operand, TensorAddress):
        return False
    count = len(operand.coordinates)
    if slot.kind == "tensor":
        fitting = count == slot.vector and operand.sampler is None and _pointer(operand, registers)
    else:
        fitting = count >= slot.vector and not operand.offset and _object(operand.base, registers)
    return fitting and all(_value(_COORDINATE, item, registers) for item in operand.coordinates)


def _object(base: Operand, registers: Mapping[str, str]) -> bool:
    return isinstance(base, Symbol) or (isinstance(base, Register) and _holds(_HANDLE, registers[base.name]))


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
        case Immediate(kind, bits):
            return f"{bits}" if kind == "int" else "a floating-point constant"
        case Special(name, _):
            return f"the special register %{name}"
        case Symbol(name):
            return f"the name {shown(name)}, whose address mov gives"
        case Vector(items):
            return f"a vector of {len(items)}"
        case Selected(register, _):
            return f"a part of {shown(register.name)}"
        case TensorAddress():
            return f"an address with {_coordinates(len(operand.coordinates))}"
    words = {
        Address: "an address",
        Sink: "'_'",
        DestinationPair: "two destinations",
    }
    return words.get(type(operand), "something else")
