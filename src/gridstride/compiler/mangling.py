"""Types of a kernel's parameters as the compiler settled them, read off its lowered name (Itanium C++ ABI, mangling).

The source may say `T*` behind a typedef, a macro, an #if or a template; the name of the PTX entry says `Pf`. A kernel
declared extern "C" has no such name: the compiler is asked for one of a template over its type (see nvrtc.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gridstride.compiler.parameter_types import dtype_of

_BUILTIN = {
    "v": "void", "w": "wchar_t", "b": "bool", "c": "char", "a": "signed char", "h": "unsigned char", "s": "short",
    "t": "unsigned short", "i": "int", "j": "unsigned int", "l": "long", "m": "unsigned long", "x": "long long",
    "y": "unsigned long long", "n": "__int128", "o": "unsigned __int128", "f": "float", "d": "double",
    "e": "long double", "g": "__float128",
}  # fmt: skip
_COMPLEX = {"float": "complex64", "double": "complex128"}
_CV = {"r": "", "V": "volatile", "K": "const"}


class _UnreadableError(Exception):
    """A name with something in it that no type of a parameter here needs."""


@dataclass(frozen=True, slots=True)
class _Type:
    """`kind` "plain", "pointer", "reference" or "function"; a pack has its types as `inner`."""

    kind: str
    name: str = ""
    inner: tuple[_Type, ...] = ()
    const: bool = False


@dataclass(frozen=True, slots=True)
class CompiledType:
    """A parameter's type. `dtype` is NumPy's name of it, for a pointer of what it points to; None: no plain number."""

    spelled: str
    pointer: bool
    read_only: bool
    dtype: str | None


def compiled_types(lowered: str) -> tuple[CompiledType, ...] | None:
    """The parameters of a function with this lowered name; None where the name does not tell."""
    if not lowered.startswith("_Z"):
        return None
    try:
        reader = _Reader(lowered[2:])
        return tuple(_compiled(type_) for type_ in reader.encoding())
    except (_UnreadableError, IndexError, RecursionError):
        return None


def type_argument(lowered: str) -> tuple[CompiledType, ...] | None:
    """The parameters of the function type that a template was instantiated over."""
    try:
        reader = _Reader(lowered.removeprefix("_Z"))
        reader.name()
        (function,) = reader.arguments
        return tuple(_compiled(type_) for type_ in function.inner[1:] if type_.name != "void" or type_.kind != "plain")
    except (_UnreadableError, IndexError, ValueError, RecursionError):
        return None


def _compiled(type_: _Type) -> CompiledType:
    pointer = type_.kind in {"pointer", "reference"}
    inner = type_.inner[0] if pointer else type_
    dtype = None if inner.kind != "plain" else _dtype(inner, pointer)
    return CompiledType(_spelled(type_), pointer, pointer and inner.const, dtype)


def _dtype(plain: _Type, pointer: bool) -> str | None:
    base, _, argument = plain.name.removesuffix(">").partition("<")
    if base.rpartition("::")[2] == "complex":
        return _COMPLEX.get(argument)
    return dtype_of([*plain.name.split(), *(["*"] if pointer else [])])


def _spelled(type_: _Type) -> str:
    const = "const " if type_.const else ""
    if type_.kind == "function":
        return f"{_spelled(type_.inner[0])} ({', '.join(map(_spelled, type_.inner[1:]))})"
    if type_.kind == "plain":
        return f"{const}{type_.name}"
    mark = "*" if type_.kind == "pointer" else "&"
    return f"{_spelled(type_.inner[0])}{mark}{' const' if type_.const else ''}"


class _Reader:
    """Reads a name from left to right; `arguments` are the template arguments of the function itself."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._substitutions: list[_Type] = []  # what S_, S0_, … stand for
        self.arguments: list[_Type] = []

    def encoding(self) -> list[_Type]:
        """The types of a function's parameters."""
        self.name()
        types: list[_Type] = []
        if self.arguments:
            self._type()  # what it returns, which only a template's name has
        while self._at < len(self._text):
            types += self._pack(self._type())
        return [type_ for type_ in types if type_.name != "void" or type_.kind != "plain"]

    def name(self) -> str:
        """The name of the function, or of the variable."""
        if self._next() == "N":
            return self._nested(function=True)
        return self._unscoped(function=True)

    def _nested(self, *, function: bool = False) -> str:
        self._take("N")
        while self._next() in _CV:
            self._at += 1
        parts = ""
        while self._next() != "E":
            if self._next() == "I":
                parts = self._template(parts, function)
            elif self._next() == "S" and self._peek(1) != "t":
                parts = self._substituted().name
                continue
            elif self._next() == "T":
                parts = self._parameter().name
            else:
                parts = self._joined(parts, "std" if self._std() else self._source_name())
            if self._next() != "E":
                self._substitutions.append(_Type("plain", parts))
        self._take("E")
        return parts

    def _unscoped(self, *, function: bool = False) -> str:
        name = self._joined("std" if self._std() else "", self._source_name())
        if self._next() == "I":
            self._substitutions.append(_Type("plain", name))
            name = self._template(name, function)
        return name

    def _template(self, name: str, function: bool) -> str:
        self._take("I")
        arguments: list[_Type] = []
        while self._next() != "E":
            arguments.append(self._argument())
        self._take("E")
        if function:
            self.arguments = arguments
        flat = [type_ for argument in arguments for type_ in self._pack(argument)]
        return f"{name}<{', '.join(map(_spelled, flat))}>"

    def _argument(self) -> _Type:
        if self._next() == "L":
            self._take("L")
            if self._next() == "_":
                raise _UnreadableError
            self._type()
            text, closed, _ = self._text[self._at :].partition("E")
            if not closed:
                raise _UnreadableError
            self._at += len(text) + 1
            return _Type("plain", text.replace("n", "-", 1))
        if self._next() == "J":
            self._take("J")
            pack: list[_Type] = []
            while self._next() != "E":
                pack.append(self._argument())
            self._take("E")
            return _Type("pack", inner=tuple(pack))
        if self._next() == "X":  # of expressions only a parameter of the template is read
            self._take("X")
            type_ = self._parameter()
            self._take("E")
            return type_
        return self._type()

    def _type(self) -> _Type:
        code = self._next()
        if code in _BUILTIN:
            self._at += 1
            return _Type("plain", _BUILTIN[code])
        if code == "u":
            self._at += 1
            return _Type("plain", self._source_name())
        if code == "D":
            return self._extended()
        if code == "S" and self._peek(1) != "t":
            type_ = self._substituted()
            if self._next() != "I":
                return type_
            return self._with_substitution(_Type("plain", self._template(type_.name, function=False)))
        return self._with_substitution(self._compound(code))

    def _compound(self, code: str) -> _Type:
        if code in _CV:
            return self._qualified()
        if code in {"P", "R", "O"}:
            self._at += 1
            inner = self._type()
            return _Type("pointer" if code == "P" else "reference", inner=(inner,))
        if code == "F":
            return self._function()
        if code == "T":
            return self._parameter()
        if code == "A":
            length = re.compile(r"A(\d*)_").match(self._text, self._at)
            if length is None:
                raise _UnreadableError
            self._at = length.end()
            return _Type("plain", f"{_spelled(self._type())}[{length[1]}]")
        if code == "N":
            return _Type("plain", self._nested())
        if code.isdigit() or self._text.startswith("St", self._at):
            return _Type("plain", self._unscoped())
        raise _UnreadableError

    def _qualified(self) -> _Type:
        words = []
        while self._next() in _CV:
            words.append(_CV[self._next()])
            self._at += 1
        inner = self._type()
        return _Type(inner.kind, inner.name, inner.inner, inner.const or "const" in words)

    def _function(self) -> _Type:
        self._take("F")
        if self._next() == "Y":
            self._at += 1
        types: list[_Type] = []
        while self._next() != "E":
            types += self._pack(self._type())
        self._take("E")
        return _Type("function", inner=tuple(types))

    def _extended(self) -> _Type:
        """Types in D: an expanded pack, char8_t, decltype(nullptr), _Float16."""
        code = self._text[self._at : self._at + 2]
        self._at += 2
        if code == "Dp":
            return self._with_substitution(self._type())
        if code in {"Dn", "Di", "Ds", "Du"}:
            return _Type("plain", {"Dn": "nullptr_t", "Di": "char32_t", "Ds": "char16_t", "Du": "char8_t"}[code])
        raise _UnreadableError

    def _parameter(self) -> _Type:
        index = self._index("T")
        return self.arguments[index]

    def _substituted(self) -> _Type:
        return self._substitutions[self._index("S")]

    def _index(self, letter: str) -> int:
        """0 for T_, n + 1 for Tn_, n in base 36 for S."""
        match = re.compile(rf"{letter}([0-9A-Z]*)_").match(self._text, self._at)
        if match is None:
            raise _UnreadableError
        self._at = match.end()
        return int(match[1], 36 if letter == "S" else 10) + 1 if match[1] else 0

    def _source_name(self) -> str:
        if self._next() == "L":
            self._at += 1
        match = re.compile(r"\d+").match(self._text, self._at)
        if match is None:
            raise _UnreadableError
        self._at = match.end() + int(match[0])
        return self._text[match.end() : self._at]

    def _std(self) -> bool:
        if not self._text.startswith("St", self._at):
            return False
        self._at += 2
        return True

    def _with_substitution(self, type_: _Type) -> _Type:
        self._substitutions.append(type_)
        return type_

    @staticmethod
    def _pack(type_: _Type) -> Sequence[_Type]:
        return type_.inner if type_.kind == "pack" else (type_,)

    @staticmethod
    def _joined(scope: str, name: str) -> str:
        return f"{scope}::{name}" if scope else name

    def _next(self) -> str:
        return self._text[self._at] if self._at < len(self._text) else ""

    def _peek(self, offset: int) -> str:
        return self._text[self._at + offset : self._at + offset + 1]

    def _take(self, letter: str) -> None:
        if self._next() != letter:
            raise _UnreadableError
        self._at += 1
