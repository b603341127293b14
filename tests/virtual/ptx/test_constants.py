"""The bits of constants as values of each type, against ml_dtypes and NumPy."""

from __future__ import annotations

import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gridstride.virtual.ptx.constants import encode, value
from gridstride.virtual.ptx.module import Immediate
from gridstride.virtual.ptx.types import TYPES


def double(number: float) -> Immediate:
    return Immediate("f64", int.from_bytes(struct.pack("<d", number), "little"))


@given(st.floats(allow_nan=False))
def test_doubles_round_once_to_each_float(number: float) -> None:
    with np.errstate(over="ignore"):
        assert encode(double(number), "f32") == int(np.float32(number).view(np.uint32))
        assert encode(double(number), "f16") == int(np.float64(number).astype(np.float16).view(np.uint16))
    assert encode(double(number), "f64") == double(number).bits


@given(st.floats(width=32, allow_nan=False))
def test_singles_round_to_bfloat16(number: float) -> None:
    assert encode(double(number), "bf16") == int(np.float32(number).astype(ml_dtypes.bfloat16).view(np.uint16))


def test_doubles_do_not_round_twice_to_bfloat16() -> None:
    just_above_half = 1 + 2**-8 + 2**-40  # f32 drops the last term, which decides
    assert encode(double(just_above_half), "bf16") == 0x3F81
    assert encode(double(1 + 2**-8), "bf16") == 0x3F80
    assert encode(double(float("nan")), "bf16") == 0x7FC0
    assert encode(double(-1e300), "bf16") == 0xFF80


@given(st.integers(-(2**63), 2**64 - 1), st.sampled_from(["u8", "s16", "b32", "s64", "f16x2"]))
def test_integers_wrap_to_the_width(number: int, kind: str) -> None:
    assert encode(Immediate("int", number), kind) == number % 2 ** TYPES[kind].bits


def test_an_integer_for_a_float_type_is_that_number() -> None:
    assert encode(Immediate("int", -2), "f32") == 0xC0000000
    assert value(Immediate("f32", 0xC0000000)) == -2


def test_exact_bits_are_kept_and_unwritable_types_refused() -> None:
    assert encode(Immediate("f32", 0x7FA00001), "b32") == 0x7FA00001  # a signalling NaN
    assert encode(Immediate("f32", 0x3F800000), "f64") == 0x3FF0000000000000
    with pytest.raises(ValueError, match="cannot be written as e4m3"):
        encode(double(1.0), "e4m3")


@pytest.mark.parametrize(
    ("name", "kind", "bits", "lanes", "element"),
    [
        ("u16", "unsigned", 16, 1, "u16"),
        ("bf16x2", "float", 32, 2, "bf16"),
        ("e5m2x4", "float", 32, 4, "e5m2"),
        ("s16x2", "signed", 32, 2, "s16"),
        ("tf32", "float", 32, 1, "tf32"),
        ("b128", "bits", 128, 1, "b128"),
        ("pred", "pred", 1, 1, "pred"),
        ("e2m1x2", "float", 8, 2, "e2m1"),
        ("ue8m0x2", "float", 16, 2, "ue8m0"),
    ],
)
def test_type_table(name: str, kind: str, bits: int, lanes: int, element: str) -> None:
    found = TYPES[name]
    assert (found.kind, found.bits, found.lanes, found.element) == (kind, bits, lanes, element)
    assert found.align == found.size == max(1, bits // 8)
