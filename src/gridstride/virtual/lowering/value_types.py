"""PTX types as LLVM types, and values read as another type."""

from __future__ import annotations

import functools

from gridstride.virtual.ir.builder import Builder, Value, bits, constant, element
from gridstride.virtual.ptx.constants import encode
from gridstride.virtual.ptx.module import Immediate
from gridstride.virtual.ptx.types import TYPES

_FLOATS = {"f32": "float", "f64": "double"}


@functools.cache
def llvm_type(ptx_type: str) -> str:
    """The LLVM type that holds a PTX type; halves and packed types are kept as their bits."""
    if ptx_type == "pred":
        return "i1"
    return _FLOATS.get(ptx_type) or f"i{max(8, TYPES[ptx_type].bits)}"


def retype(b: Builder, value: Value, ptx_type: str) -> Value:
    """A register's value read as another PTX type of the same or a smaller width."""
    return convert_bits(b, value, llvm_type(ptx_type))


def convert_bits(b: Builder, value: Value, target: str, *, signed: bool = False) -> Value:
    """The bits of a value as an LLVM type: wider ones are cut, narrower ones extended."""
    source = element(value.type)
    if source == target:
        return value
    if bits(source) != bits(target):
        if source in ("float", "double"):
            value = b.cast("bitcast", value, f"i{bits(source)}")
        value = b.resize(value, f"i{bits(target)}", signed=signed)
    return b.cast("bitcast", value, target) if element(value.type) != target else value


def immediate(b: Builder, operand: Immediate, ptx_type: str) -> Value:
    """A constant as `ptx_type`: integers wrap, decimal floats are rounded to the type."""
    target = llvm_type(ptx_type)
    if target == "i1":
        return constant("i1", operand.bits != 0)
    as_bits = constant(f"i{bits(target)}", encode(operand, ptx_type))
    return b.bitcast(as_bits, target) if target in ("float", "double") else as_bits
