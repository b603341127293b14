"""A kernel's parameters: the layout that the PTX gives, with the names and types that the source gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gridstride.device.launch.object_arguments import object_type
from gridstride.protocol import ParameterLayout

if TYPE_CHECKING:
    from gridstride.compiler import KernelSignature, SourceParameter
    from gridstride.compiler.mangling import CompiledType

_WORD = re.compile(r"\w+|\*|&")
_VECTOR = re.compile(r"\b(?:u?char|u?short|u?int|u?longlong|float|double|(?:__)?half|(?:__)?nv_bfloat16)([1-4])\b")
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

    @property
    def element(self) -> int:
        """Bytes of what a pointer points to: 16 for `float4*`, whose dtype is float32; 0 where that is not known."""
        if not self.pointer or self.dtype is None:
            return 0
        if self.dtype.startswith("complex"):
            return np.dtype(self.dtype).itemsize
        vector = _VECTOR.search(self.type)
        element_bytes = {"bfloat16": 2, "float8": 1}.get(self.dtype.partition("_")[0])  # NumPy alone has neither
        scalar = element_bytes or np.dtype(self.dtype).itemsize
        return scalar * (int(vector[1]) if vector else 1)


def parameters(
    layouts: Sequence[ParameterLayout],
    signature: KernelSignature | None,
    arguments: str | None,
    compiled: Sequence[CompiledType] | None = None,
) -> tuple[KernelParameter, ...]:
    """The parameters of a kernel; `arguments` are the template arguments it was made with, "<float, 16>".

    Names come from the source's signature, types from the compiler's where it tells them. A signature with another
    number of parameters is not this kernel's (an overload) and is left aside.
    """
    if compiled is not None and len(compiled) != len(layouts):
        compiled = None
    if signature is None or len(signature.parameters) != len(layouts):
        if compiled is None:
            return tuple(_from_ptx(layout, number) for number, layout in enumerate(layouts, 1))
        triples = enumerate(zip(layouts, compiled, strict=True), 1)
        return tuple(_from_compiler(layout, parameter, None, number) for number, (layout, parameter) in triples)
    pairs = list(zip(layouts, signature.parameters, strict=True))
    if compiled is not None:
        return tuple(
            _from_compiler(layout, parameter, source_parameter, number)
            for number, ((layout, source_parameter), parameter) in enumerate(zip(pairs, compiled, strict=True), 1)
        )
    types = _template_types(signature.template, arguments)
    return tuple(
        _from_source(layout, source_parameter, types, number)
        for number, (layout, source_parameter) in enumerate(pairs, 1)
    )


def _from_compiler(
    layout: ParameterLayout, compiled: CompiledType, source_parameter: SourceParameter | None, number: int
) -> KernelParameter:
    """Spelled as in the source where that says the same, as the compiler has it behind an alias."""
    same = (
        source_parameter is not None
        and (source_parameter.dtype == compiled.dtype)
        and (source_parameter.settled or compiled.dtype is None)
    )
    same |= (
        source_parameter is not None and compiled.dtype == "uint64" and object_type(source_parameter.type) is not None
    )
    pointer = compiled.pointer or layout.pointer
    return KernelParameter(
        layout=layout,
        label=(source_parameter.name if source_parameter else "") or f"argument {number}",
        type=source_parameter.type if source_parameter is not None and same else compiled.spelled,
        pointer=pointer,
        read_only=compiled.read_only if pointer else None,
        dtype=compiled.dtype,
    )


def _from_ptx(layout: ParameterLayout, number: int) -> KernelParameter:
    may_be = None if layout.size == 8 and "[" not in layout.type and not layout.type.startswith("f") else False
    pointer = True if layout.pointer else may_be
    return KernelParameter(layout, f"argument {number}", layout.type, pointer, None, None)


def _from_source(
    layout: ParameterLayout, source_parameter: SourceParameter, types: dict[str, str], number: int
) -> KernelParameter:
    pointer = source_parameter.pointer or layout.pointer
    return KernelParameter(
        layout=layout,
        label=source_parameter.name or f"argument {number}",
        type=source_parameter.type,
        pointer=pointer,
        read_only=_points_to_const(source_parameter.type) if pointer else None,
        dtype=source_parameter.dtype or _instantiated(source_parameter.type, types),
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
    template_arguments = _split(arguments[1:-1]) if arguments else []
    types = {}
    for position, declared in enumerate(template):
        declaration, _, default = declared.partition("=")
        kind, _, name = declaration.strip().partition(" ")
        value = template_arguments[position] if position < len(template_arguments) else default
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
