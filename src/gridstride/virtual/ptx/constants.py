"""The bits that a constant has as an operand or initial value of a given type."""

from __future__ import annotations

import struct

from gridstride.virtual.ptx.module import Immediate
from gridstride.virtual.ptx.types import TYPES


def encode(constant: Immediate, type_name: str) -> int:
    """The bit pattern, unsigned, of `constant` as a value of a PTX type.

    Integers wrap to the width. Floats are rounded to nearest even for f32, f16 and bf16 (and for bit types as wide as
    those, except 16); an integer given for a float type becomes that number.
    """
    info = TYPES[type_name]
    if constant.kind == "int":
        if info.kind != "float" or info.lanes > 1:
            return constant.bits & ((1 << info.bits) - 1)
        return _float_bits(float(constant.bits), type_name, info.bits)
    if (constant.kind == "f32" and info.bits == 32) or (constant.kind == "f64" and info.bits == 64):
        return constant.bits
    return _float_bits(value(constant), type_name, info.bits)


def value(constant: Immediate) -> int | float:
    """The number that a constant stands for."""
    if constant.kind == "int":
        return constant.bits
    form, width = ("<f", 4) if constant.kind == "f32" else ("<d", 8)
    number: float = struct.unpack(form, constant.bits.to_bytes(width, "little"))[0]
    return number


def _float_bits(number: float, type_name: str, bits: int) -> int:
    if type_name == "bf16":
        return _bf16_bits(number)
    if bits not in (16, 32, 64):
        raise ValueError(f"a constant cannot be written as {type_name}")
    form = {16: "<e", 32: "<f", 64: "<d"}[bits]
    try:
        packed = struct.pack(form, number)
    except OverflowError:  # past the largest finite value: infinity
        packed = struct.pack(form, float("inf") if number > 0 else float("-inf"))
    return int.from_bytes(packed, "little")


def _bf16_bits(number: float) -> int:
    """Round a double to bf16 once. Going through f32 would round twice, so a sticky bit stands for what f32 drops."""
    wide = int.from_bytes(struct.pack("<d", number), "little")
    sign, magnitude = wide >> 63 << 15, wide & (2**63 - 1)
    if magnitude > 0x7FF << 52:
        return sign | 0x7FC0
    single = _float_bits(abs(number), "f32", 32)
    exact = value(Immediate("f32", single))
    if exact > abs(number):  # f32 rounded up: step back, so that the sticky bit below says "a little more"
        single -= 1
    if exact != abs(number):
        single |= 1
    if single >= 0x7F800000:
        return sign | 0x7F80
    return sign | (single + 0x7FFF + (single >> 16 & 1)) >> 16
