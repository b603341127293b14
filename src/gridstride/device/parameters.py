"""A kernel's parameters: the layout that the PTX gives, with the names and types that the source gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gridstride.protocol import ParameterLayout

if TYPE_CHECKING:
    from gridstride.compiler import Parameter, Signature

_WORD = re.compile(r"\w+|\*|&")
_CONST = re.compile(r"\bconst\b")


@dataclass(frozen=True, slots=True)
class KernelParameter:
    """One parameter as a launch sees it. None stands for what the PTX alone does not tell."""

    layout: ParameterLayout
    label: str  # its name, or "argument 2", counted from 1
    type: str  # as the source spells it, else the PTX type
    pointer: bool | None
    read_only: bool | None  # of a pointer: const in the source
    dtype: str | None  # NumPy's name of the type, or of what a pointer points to


def parameters(
    layouts: Sequence[ParameterLayout], signature: Signature | None, arguments: str | None
) -> tuple[KernelParameter, ...]:
    """The parameters of a kernel; `arguments` are the template arguments it was made with, "<float, 16>".

    A signature with another number of parameters is not this kernel's (an overload) and is left aside.
    """
    if signature is None or len(signature.parameters) != len(layouts):
        return tuple(_from_ptx(layout, number) for number, layout in enumerate(layouts, 1))
    types = _template_types(signature.template, arguments)
    pairs = enumerate(zip(layouts, signature.parameters, strict=True), 1)
    return tuple(_from_source(layout, known, types, number) for number, (layout, known) in pairs)


def _from_ptx(layout: ParameterLayout, number: int) -> KernelParameter:
    may_be = None if layout.size == 8 and "[" not in layout.type and not layout.type.startswith("f") else False
    pointer = True if layout.pointer else may_be
    return KernelParameter(layout, f"argument {number}", layout.type, pointer, None, None)


def _from_source(layout: ParameterLayout, known: Parameter, types: dict[str, str], number: int) -> KernelParameter:
    pointer = known.pointer or layout.pointer
    return KernelParameter(
        layout=layout,
        label=known.name or f"argument {number}",
        type=known.type,
        pointer=pointer,
        read_only=_points_to_const(known.type) if pointer else None,
        dtype=known.dtype or _instantiated(known.type, types),
    )


def _instantiated(spelled: str, types: dict[str, str]) -> str | None:
    """NumPy's name of a type spelled with template parameters, whose arguments are `types`."""
    from gridstride.compiler.parameter_types import dtype_of

    words = _WORD.findall(spelled)
    if types.keys().isdisjoint(words):
        return None
    return dtype_of(_WORD.findall(" ".join(types.get(word, word) for word in words)))


def _template_types(template: Sequence[str], arguments: str | None) -> dict[str, str]:
    """What each type parameter of a template stands for; `template` holds "typename T = float", "int N"."""
    given = _split(arguments[1:-1]) if arguments else []
    types = {}
    for position, declared in enumerate(template):
        declaration, _, default = declared.partition("=")
        kind, _, name = declaration.strip().partition(" ")
        value = given[position] if position < len(given) else default
        if kind in ("typename", "class") and value.strip():
            types[name] = value.strip()
    return types


def _split(arguments: str) -> list[str]:
    """Template arguments between top-level commas."""
    parts, depth = [""], 0
    for character in arguments:
        depth += (character in "<(") - (character in ">)")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def _points_to_const(spelled: str) -> bool:
    """Whether the pointed-to type of "const float*" or "float const *" is const; not the pointer of "float* const"."""
    pointee = spelled.rpartition("*")[0].rpartition("*")[2]
    return _CONST.search(pointee) is not None
