"""The kernel that a problem expects, by its parameters, and where another differs from it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, zip_longest

import numpy as np

from gridstride.device.launch.parameters import KernelParameter
from gridstride.judge.parameter_names import ProblemParameter, likely_order
from gridstride.judge.problem import Parameter, Signature

_C_TYPES = {
    "float16": "__half", "float32": "float", "float64": "double", "int8": "signed char", "uint8": "unsigned char",
    "int16": "short", "uint16": "unsigned short", "int32": "int", "uint32": "unsigned", "int64": "long long",
    "uint64": "unsigned long long", "bool": "bool",
}  # fmt: skip


def declaration(signature: Signature, name: str) -> str:
    """The kernel as CUDA C++ declares it."""
    return f"__global__ void {name}({', '.join(map(_declared, signature.parameters))})"


def check_parameters(signature: Signature, name: str, parameters: Sequence[KernelParameter]) -> str:
    """What the kernel's own names make doubtful, empty where nothing.

    ValueError says which parameter is not what the problem gives, whether the order is another, and what the whole
    should look like.
    """
    for number, (expected, actual) in enumerate(zip_longest(signature.parameters, parameters), start=1):
        wrong = _difference(expected, actual, number)
        if wrong:
            order = _another_order(signature, parameters)
            raise ValueError(f"{name}: {wrong}{order}. The problem gives {declaration(signature, name)}")
    return _doubtful_names(signature, name, parameters) or _read_only(signature, name, parameters)


def _read_only(signature: Signature, name: str, parameters: Sequence[KernelParameter]) -> str:
    """An output that the kernel promises not to write: it takes another of its parameters for that."""
    for number, (expected, actual) in enumerate(zip(signature.parameters, parameters, strict=True), start=1):
        if expected.written and actual.read_only:
            return (
                f"the kernel's parameters are the problem's by their places, and parameter {number}, {actual.type} "
                f"{actual.label}, is const where the problem passes its output {expected.name}: are they in another "
                f"order? The problem gives {declaration(signature, name)}"
            )
    return ""


def _another_order(signature: Signature, parameters: Sequence[KernelParameter]) -> str:
    """Which parameters would have to change places for all to fit; empty where that is not all there is to it."""
    expected = signature.parameters
    if len(expected) != len(parameters):
        return ""
    named = likely_order([parameter.label for parameter in parameters], _roles(signature))
    if named and all(
        not _difference(expected[index], parameter, 1) for index, parameter in zip(named, parameters, strict=True)
    ):
        return f": {_swapped(named, parameters)}"
    for first, second in combinations(range(len(parameters)), 2):
        order = list(range(len(parameters)))
        order[first], order[second] = second, first
        if all(
            not _difference(expected[index], parameter, 1) for index, parameter in zip(order, parameters, strict=True)
        ):
            return f": {_swapped(order, parameters)}"
    return ""


def _doubtful_names(signature: Signature, name: str, parameters: Sequence[KernelParameter]) -> str:
    """Types fit, but the names stand in another order: the arrays would be taken for one another."""
    order = likely_order([parameter.label for parameter in parameters], _roles(signature))
    if order is None or list(order) == sorted(order):
        return ""
    return f"{_swapped(order, parameters)}. The problem gives {declaration(signature, name)}, in this order"


def _swapped(order: Sequence[int], parameters: Sequence[KernelParameter]) -> str:
    moved = [index for index, target in enumerate(order) if index != target]
    names = ", ".join(parameters[index].label for index in moved)
    numbers = ", ".join(str(index + 1) for index in moved)
    if len(moved) == 2:
        return f"parameters {numbers.replace(', ', ' and ')} seem swapped: {names.replace(', ', ' and ')}"
    return f"parameters {numbers} seem to stand in another order: {names}"


def _roles(signature: Signature) -> list[ProblemParameter]:
    return [ProblemParameter(parameter.name, parameter.role) for parameter in signature.parameters]


def _declared(parameter: Parameter) -> str:
    kind = _C_TYPES.get(parameter.dtype, parameter.dtype)
    if parameter.role == "scalar":
        return f"{kind} {parameter.name}"
    return f"{'const ' if parameter.role == 'in' else ''}{kind}* {parameter.name}"


def _difference(expected: Parameter | None, actual: KernelParameter | None, number: int) -> str:
    if actual is None:
        assert expected is not None
        return f"parameter {number}, {_declared(expected)}, is missing"
    if expected is None:
        return f"parameter {number}, {actual.type} {actual.label}, is one too many"
    array = expected.role != "scalar"
    if actual.pointer is (not array):  # None where plain PTX does not say
        is_what = "an array" if array else "a number"
        got = f"parameter {number} is {actual.type} {actual.label}"
        return f"{got}, but {expected.name} is {is_what}, {_declared(expected)}"
    if actual.dtype is None or _fits(expected, _held(actual.dtype)):
        return ""
    return f"parameter {number} is {actual.type} {actual.label}, but {expected.name} is {_declared(expected)}"


def _held(dtype: str) -> np.dtype[np.generic]:
    """How NumPy holds elements of which it has no dtype: as their bits."""
    bits = {"bfloat16": "uint16", "float8": "uint8"}.get(dtype.partition("_")[0])
    return np.dtype(bits or dtype)


def _fits(expected: Parameter, dtype: np.dtype[np.generic]) -> bool:
    """An array's elements are of one type; a number is converted, but a fraction does not become a whole one."""
    declared = np.dtype(expected.dtype)
    if expected.role != "scalar":
        # Bytes are bytes, and whole numbers of one size hold the same bits.
        return declared == dtype or (
            declared.kind in "iu" and dtype.kind in "iu" and declared.itemsize == dtype.itemsize
        )
    return not (declared.kind == "f" and dtype.kind in "iub")
