"""Values of generated code: LLVM types, constants, and values with operators.

**Operators are those of unsigned integers.** `a + b`, `a - b`, `a * b`, `a // b` (udiv), `a % b` (urem), `a & b`,
`a | b`, `a ^ b`, `~a`, `a << n`, `a >> n` (lshr), `a < b` (ult) and so on; `==` and `!=` also compare pointers. Each
writes one instruction. What is signed or a float has no operator and says so by LLVM's own name:
`b.op("ashr", a, n)`, `b.compare("slt", a, b)`, `b.op("fadd", x, y)`. A Python integer beside a value is a constant of
the value's type; two values are of one type, else a TypeError. A value is not known while the code is written, so `if`,
`and`, `or`, `not` and chains such as `a < b < c` refuse one: `b.if_`, `b.select`, `&`, `|` and `~` are meant.

Two constants have no operators, for neither knows the builder: `b.constant` makes one that does. What lowers a kernel's
instructions calls `b.op` and `b.compare`, as all operands of an instruction may be immediate.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from typing import NoReturn, Protocol

from gridstride.virtual.abi.hardware_limits import LANES


class ValueBuilder(Protocol):
    """What values and records need of the builder that defines them."""

    def op(self, name: str, a: Value, b: Value) -> Value: ...

    def compare(self, predicate: str, a: Value, b: Value) -> Value: ...

    def load(self, type_: str, pointer: Value) -> Value: ...

    def store(self, value: Value, pointer: Value) -> None: ...

    def offset(self, pointer: Value, by: Value | int) -> Value: ...


class Value:
    """An SSA value or a constant: its text and its LLVM type; an SSA value also knows the builder that defines it."""

    __slots__ = ("_writer", "name", "type")

    def __init__(self, name: str, type_: str, writer: ValueBuilder | None = None) -> None:
        self.name, self.type, self._writer = name, type_, writer

    def __repr__(self) -> str:
        return f"{self.type} {self.name}"

    @property
    def wide(self) -> bool:
        """True for a vector of lanes."""
        return self.type[0] == "<"

    __hash__ = object.__hash__

    def __bool__(self) -> NoReturn:
        raise TypeError(f"{self!r} is not known while the code is written: use b.if_, b.select, &, | or ~")

    # -- operators of unsigned integers -------------------------------------------------------------------------------
    def __add__(self, other: Value | int) -> Value:
        return _operate("add", self, other)

    def __sub__(self, other: Value | int) -> Value:
        return _operate("sub", self, other)

    def __mul__(self, other: Value | int) -> Value:
        return _operate("mul", self, other)

    def __floordiv__(self, other: Value | int) -> Value:
        return _operate("udiv", self, other)

    def __mod__(self, other: Value | int) -> Value:
        return _operate("urem", self, other)

    def __and__(self, other: Value | int) -> Value:
        return _operate("and", self, other)

    def __or__(self, other: Value | int) -> Value:
        return _operate("or", self, other)

    def __xor__(self, other: Value | int) -> Value:
        return _operate("xor", self, other)

    def __lshift__(self, other: Value | int) -> Value:
        return _operate("shl", self, other)

    def __rshift__(self, other: Value | int) -> Value:
        return _operate("lshr", self, other)

    def __invert__(self) -> Value:
        return _operate("xor", self, -1)

    def __radd__(self, other: int) -> Value:
        return _operate("add", other, self)

    def __rsub__(self, other: int) -> Value:
        return _operate("sub", other, self)

    def __rmul__(self, other: int) -> Value:
        return _operate("mul", other, self)

    def __rlshift__(self, other: int) -> Value:
        return _operate("shl", other, self)

    # -- comparisons of unsigned integers; == and != of pointers too --------------------------------------------------
    def __eq__(self, other: Value | int) -> Value:  # type: ignore[override]
        return _compare("eq", self, other)

    def __ne__(self, other: Value | int) -> Value:  # type: ignore[override]
        return _compare("ne", self, other)

    def __lt__(self, other: Value | int) -> Value:
        return _compare("ult", self, other)

    def __le__(self, other: Value | int) -> Value:
        return _compare("ule", self, other)

    def __gt__(self, other: Value | int) -> Value:
        return _compare("ugt", self, other)

    def __ge__(self, other: Value | int) -> Value:
        return _compare("uge", self, other)


NULL = Value("null", "ptr")
"""The pointer to nothing."""


def _operate(name: str, a: Value | int, b: Value | int) -> Value:
    left, right, writer = _operands(name, a, b)
    if element(left.type)[0] != "i":
        raise TypeError(f"{name} of {left!r} and {right!r}: operators are for integers, use b.op or b.offset")
    return writer.op(name, left, right)


def _compare(predicate: str, a: Value, b: Value | int) -> Value:
    left, right, writer = _operands(predicate, a, b)
    if element(left.type)[0] != "i" and not (element(left.type) == "ptr" and predicate in ("eq", "ne")):
        raise TypeError(f"{predicate} of {left!r} and {right!r}: operators are for integers, use b.compare")
    return writer.compare(predicate, left, right)


def _operands(name: str, a: Value | int, b: Value | int) -> tuple[Value, Value, ValueBuilder]:
    """Both operands as values of one type, and the builder that defines one of them."""
    model = a if isinstance(a, Value) else b
    assert isinstance(model, Value)
    left, right = (_like(name, operand, model) for operand in (a, b))
    if left.type != right.type:
        raise TypeError(f"{name} of {left!r} and {right!r}: types differ, use b.resize or b.splat")
    writer = left._writer or right._writer
    if writer is None:
        raise TypeError(f"{name} of the constants {left!r} and {right!r}: compute with Python's integers")
    return left, right, writer


def _like(name: str, operand: object, model: Value) -> Value:
    if isinstance(operand, Value):
        return operand
    if not isinstance(operand, int):
        raise TypeError(f"{name} of {model!r} and {operand!r}: the operand is neither a value nor an integer")
    if element(model.type)[0] != "i":
        raise TypeError(f"{name} of {model!r} and {operand}: only integers take an integer, pointers take NULL")
    return constant(model.type, operand)


@functools.cache
def wide(type_: str) -> str:
    """The vector type with one element of `type_` per lane."""
    return f"<{LANES} x {type_}>"


@functools.cache
def element(type_: str) -> str:
    """The element type of a vector type; a scalar type is its own element."""
    return type_[type_.index("x") + 2 : -1] if type_[0] == "<" else type_


@functools.cache
def count(type_: str) -> int:
    """How many elements a type has; 1 for a scalar."""
    return int(type_[1 : type_.index("x")]) if type_[0] == "<" else 1


@functools.cache
def like(type_: str, model: str) -> str:
    """`type_` as a scalar or with as many elements as `model` has."""
    return f"<{count(model)} x {type_}>" if model[0] == "<" else type_


BITS = {
    "i1": 1,
    "i8": 8,
    "i16": 16,
    "i32": 32,
    "i64": 64,
    "i128": 128,
    "half": 16,
    "bfloat": 16,
    "float": 32,
    "double": 64,
    "ptr": 64,
}


@functools.cache
def bits(type_: str) -> int:
    """Width in bits of the (element) type."""
    return BITS[element(type_)]


def literal(type_: str, value: int | float | bool) -> str:
    """The text of a scalar constant; floats in LLVM's hexadecimal form."""
    if type_ in ("float", "double"):
        return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"
    if type_ in ("half", "bfloat"):
        raise AssertionError("half constants are made from their bits")
    if type_ == "i1":
        return "true" if value else "false"
    size = BITS[type_]
    value = int(value) & ((1 << size) - 1)
    return str(value - (1 << size) if value >> (size - 1) else value)


def constant(type_: str, value: int | float | bool) -> Value:
    """A constant of a scalar or (splatted) vector type."""
    base = element(type_)
    text = literal(base, value)
    return Value(text if base == type_ else f"splat ({base} {text})", type_)


def known(value: Value) -> int | None:
    """The integer that a constant, the same in all elements, stands for; None for anything else."""
    text = value.name
    if text.startswith("splat (i"):
        text = text[text.index(" ", 7) + 1 : -1]
    return int(text) if text.lstrip("-").isdigit() else None


def vector_constant(type_: str, values: Sequence[int | float | bool]) -> Value:
    """A constant vector with the given elements of scalar type `type_`."""
    if all(v == values[0] for v in values):
        return constant(f"<{len(values)} x {type_}>", values[0])
    write = _integers if type_[0] == "i" else _elements
    return Value(write(type_, tuple(values)), f"<{len(values)} x {type_}>")


def _elements(type_: str, values: tuple[int | float | bool, ...]) -> str:
    return "<" + ", ".join(f"{type_} {literal(type_, v)}" for v in values) + ">"


_integers = functools.lru_cache(1024)(_elements)
"""The same, remembered: lanes' distances come again and again. Not for floats: a cache takes -0 for 0."""


@functools.cache
def suffix(type_: str) -> str:
    """How LLVM spells a type inside an intrinsic's name."""
    short = {"float": "f32", "double": "f64", "half": "f16", "bfloat": "bf16", "ptr": "p0"}
    base = short.get(element(type_), element(type_))
    return base if type_[0] != "<" else f"v{count(type_)}{base}"
