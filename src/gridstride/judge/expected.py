"""The kernel that a problem expects, by its parameters, and where another differs from it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

import numpy as np

from gridstride.device.parameters import KernelParameter
from gridstride.judge.problem import Parameter, Signature

_C_TYPES = {
    "float16": "__half", "float32": "float", "float64": "double", "int8": "signed char", "uint8": "unsigned char",
    "int16": "short", "uint16": "unsigned short", "int32": "int", "uint32": "unsigned", "int64": "long long",
    "uint64": "unsigned long long", "bool": "bool",
}  # fmt: skip


def declaration(signature: Signature, name: str) -> str:
    """The kernel as CUDA C++ declares it."""
    return f"__global__ void {name}({', '.join(map(_declared, signature.parameters))})"


def check_parameters(signature: Signature, name: str, given: Sequence[KernelParameter]) -> None:
    """ValueError says which parameter is not what the problem gives, and what the whole should look like."""
    for place, (wanted, found) in enumerate(zip_longest(signature.parameters, given), start=1):
        wrong = _difference(wanted, found, place)
        if wrong:
            raise ValueError(f"{name}: {wrong}. The problem gives {declaration(signature, name)}")


def _declared(parameter: Parameter) -> str:
    kind = _C_TYPES.get(parameter.dtype, parameter.dtype)
    if parameter.role == "scalar":
        return f"{kind} {parameter.name}"
    return f"{'const ' if parameter.role == 'in' else ''}{kind}* {parameter.name}"


def _difference(wanted: Parameter | None, found: KernelParameter | None, place: int) -> str:
    if found is None:
        assert wanted is not None
        return f"parameter {place}, {_declared(wanted)}, is missing"
    if wanted is None:
        return f"parameter {place}, {found.type} {found.label}, is one too many"
    array = wanted.role != "scalar"
    if found.pointer is (not array):  # None where plain PTX does not say
        is_what = "an array" if array else "a number"
        return f"parameter {place} is {found.type} {found.label}, but {wanted.name} is {is_what}, {_declared(wanted)}"
    if found.dtype is None or _fits(wanted, np.dtype(found.dtype)):
        return ""
    return f"parameter {place} is {found.type} {found.label}, but {wanted.name} is {_declared(wanted)}"


def _fits(wanted: Parameter, dtype: np.dtype[np.generic]) -> bool:
    """An array's elements are of one type; a number is converted, but a fraction does not become a whole one."""
    mine = np.dtype(wanted.dtype)
    if wanted.role != "scalar":
        # Bytes are bytes, and whole numbers of one size hold the same bits.
        return mine == dtype or (mine.kind in "iu" and dtype.kind in "iu" and mine.itemsize == dtype.itemsize)
    return not (mine.kind == "f" and dtype.kind in "iub")
