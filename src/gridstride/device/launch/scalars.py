"""Python and NumPy scalars to the bytes of a kernel parameter, with the range checked and the parameter named."""

from __future__ import annotations

import numbers
import operator
import struct
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import Any

import numpy as np

from gridstride.protocol import LaunchError

Convert = Callable[[Any], Any]

_SIGNED = {1: "b", 2: "h", 4: "i", 8: "q"}
# The smallest magnitude that rounds to infinity: half a step past the largest finite value.
_FLOATS = {
    "float16": ("e", 65520.0),
    "bfloat16": ("H", 2.0**128 - 2.0**119),
    "float32": ("f", 2.0**128 - 2.0**103),
    "float64": ("d", inf),
}
_FLOAT_BYTES = {"float16": 2, "bfloat16": 2, "float32": 4, "float64": 8}
_PTX_FLOATS = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "f64": "float64"}
_INTEGERS = {f"{sign}int{bits}": (sign == "", bits // 8) for sign in ("", "u") for bits in (8, 16, 32, 64)}


@dataclass(frozen=True, slots=True)
class PackedField:
    """One parameter of a packed launch: its `struct` code, and what turns an argument into what the code takes."""

    code: str
    convert: Convert


def scalar_field(where: str, spelled: str, ptx_type: str, size: int, dtype: str | None) -> PackedField:
    """The field of a scalar or struct parameter.

    `where` begins its messages ("saxpy: alpha"), `spelled` is its C type, `dtype` the NumPy name of it where known;
    without one the PTX type decides, which does not tell int from unsigned.
    """
    dtype = dtype if dtype in _PLAIN and _PLAIN[dtype] == size else _PTX_FLOATS.get(ptx_type)
    if dtype in _FLOATS:
        return _float(where, spelled, dtype)
    if dtype == "bool":
        return PackedField("?", _boolean(where))
    if dtype in _INTEGERS:
        signed, _ = _INTEGERS[dtype]
        low, high = (-(1 << 8 * size - 1), (1 << 8 * size - 1) - 1) if signed else (0, (1 << 8 * size) - 1)
        return PackedField(_SIGNED[size] if signed else _SIGNED[size].upper(), _integer(where, spelled, low, high))
    if "[" in ptx_type or size not in _SIGNED:
        return PackedField(f"{size}s", _structure(where, spelled, size))
    return PackedField(_SIGNED[size].upper(), _either_sign(where, spelled, size))


_PLAIN = {**_FLOAT_BYTES, "bool": 1, **{name: size for name, (_, size) in _INTEGERS.items()}}


def as_int(value: Any, where: str, spelled: str) -> int:
    """`value` as an int; LaunchError for a float, even a round one, and for anything else."""
    if isinstance(value, np.bool_):
        return int(value)
    try:
        return operator.index(value)
    except TypeError:
        pass
    if isinstance(value, (float, np.floating)):
        raise LaunchError(f"{where} is {spelled}, {value!r} is a float: pass an int")
    raise LaunchError(f"{where} is {spelled}, a {type(value).__name__} was given")


def _integer(where: str, spelled: str, low: int, high: int) -> Convert:
    def convert(value: Any) -> int:
        number = value if type(value) is int else as_int(value, where, spelled)
        if low <= number <= high:
            return number
        raise LaunchError(f"{where} = {number} does not fit {spelled}, which holds {low} to {high}")

    return convert


def _either_sign(where: str, spelled: str, size: int) -> Convert:
    check, mask = _integer(where, spelled, -(1 << 8 * size - 1), (1 << 8 * size) - 1), (1 << 8 * size) - 1
    return lambda value: check(value) & mask


def _boolean(where: str) -> Convert:
    def convert(value: Any) -> bool:
        number = as_int(value, where, "bool")
        if number in (0, 1):
            return bool(number)
        raise LaunchError(f"{where} is bool, {number} is neither True nor False")

    return convert


def _float(where: str, spelled: str, dtype: str) -> PackedField:
    code, limit = _FLOATS[dtype]

    def convert(value: Any) -> float:
        number = value if type(value) is float else _real(value, where, spelled)
        if -limit < number < limit or not isfinite(number):
            return number
        raise LaunchError(f"{where} = {number!r} is too large for {spelled}")

    if dtype == "bfloat16":
        return PackedField(code, lambda value: bfloat16_bits(convert(value)))
    return PackedField(code, convert)


def _real(value: Any, where: str, spelled: str) -> float:
    if isinstance(value, (numbers.Real, np.generic)) and not isinstance(value, (np.complexfloating, np.flexible)):
        try:
            return float(value)
        except OverflowError:
            raise LaunchError(f"{where} = {value!r} is too large for {spelled}") from None
        except (TypeError, ValueError):
            pass
    raise LaunchError(f"{where} is {spelled}, a {type(value).__name__} was given")


def bfloat16_bits(value: float) -> int:
    """Bits of the nearest bfloat16, ties to even.

    From the double in one rounding: by way of float32 a value just past a tie could fall back onto it. The double's
    high 32 bits with a sticky last bit keep what the rounding to odd needs (Boldo and Melquiond, 2008).
    """
    if not isfinite(value):
        return 0x7FC0 if isnan(value) else 0x7F80 if value > 0 else 0xFF80
    single = np.float32(value)
    bits = int(single.view(np.uint32))
    if float(single) != value and not bits & 1:  # round to odd: the even neighbour moves to the odd one towards value
        bits += 1 if abs(value) > abs(float(single)) else -1
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def _structure(where: str, spelled: str, size: int) -> Convert:
    def convert(value: Any) -> bytes:
        data = _raw(value)
        if data is None:
            raise LaunchError(
                f"{where} is {spelled}, {size} bytes by value: pass bytes, a ctypes structure or a NumPy structured "
                f"scalar, not a {type(value).__name__}"
            )
        if len(data) != size:
            raise LaunchError(f"{where} is {spelled} of {size} bytes, {len(data)} were given")
        return data

    return convert


def _raw(value: Any) -> bytes | None:
    if isinstance(value, (np.generic, np.ndarray)):
        return None if value.dtype.hasobject else value.tobytes()
    try:
        return memoryview(value).tobytes()
    except TypeError:
        return None


def packer(codes: list[str], offsets: list[int], sizes: list[int]) -> Callable[..., bytes]:
    """`struct` packing of all parameters at their offsets, in the device's byte order."""
    spelled, position = ["<"], 0
    for code, offset, size in zip(codes, offsets, sizes, strict=True):
        spelled.append(f"{offset - position}x{code}")
        position = offset + size
    return struct.Struct("".join(spelled)).pack
