"""Scalars as arguments of a launch: what a parameter takes, how it rounds, and what is refused."""

from __future__ import annotations

import ctypes
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gridstride as gs
from gridstride.device.launch.scalars import scalar_field

SCALARS = """
#include <cuda_fp16.h>
#include <cuda_bf16.h>
struct Pair { float a; int b; };
__global__ void scalars(bool flag, char c, unsigned short s, unsigned u, long long q, half h, __nv_bfloat16 b,
                        double d, Pair pair, float4 colour) {}
"""


@pytest.fixture
def scalars(fake):
    kernel = gs.cuda(SCALARS)["scalars"]
    good = [True, -3, 65535, 2**32 - 1, -(2**63), 0.5, 1.0, 2.5, struct.pack("fi", 1.5, 7), np.arange(4, dtype="f4")]

    def launch(**changed):
        names = ["flag", "c", "s", "u", "q", "h", "b", "d", "pair", "colour"]
        values = [changed.get(name, value) for name, value in zip(names, good, strict=True)]
        kernel[1, 1](*values)
        return dict(zip(names, fake.launches[-1].values, strict=True))

    return launch


def test_vector_types_take_arrays_of_their_elements(fake):
    kernel = gs.cuda("__global__ void k(float4* v, float2* z, char* bytes) {}")["k"]
    kernel[1, 1](np.ones(8, "f4"), np.ones(4, "c8"), np.ones(4, bool))
    with pytest.raises(gs.LaunchError, match=r"v is float4\*, an array of float64"):
        kernel[1, 1](np.ones(8), None, None)


def test_scalars_arrive_as_the_kernel_declares_them(scalars):
    values = scalars()
    assert values["flag"] == 1
    assert values["c"] == 0xFD
    assert (values["s"], values["u"], values["q"]) == (65535, 2**32 - 1, 2**63)
    assert struct.unpack("e", values["h"])[0] == 0.5
    assert struct.unpack("H", values["b"])[0] == 0x3F80
    assert values["d"] == 2.5
    assert struct.unpack("fi", values["pair"]) == (1.5, 7)
    assert struct.unpack("4f", values["colour"]) == (0, 1, 2, 3)


def test_numpy_scalars_are_scalars(scalars):
    pair = np.zeros((), dtype=[("a", "f4"), ("b", "i4")])
    pair["b"] = 9
    values = scalars(flag=np.True_, u=np.int64(5), d=np.float32(0.25), h=np.float16(2), pair=pair[()])
    assert (values["flag"], values["u"], values["d"]) == (1, 5, 0.25)
    assert struct.unpack("fi", values["pair"]) == (0, 9)


def test_an_int_goes_to_a_float_parameter(scalars):
    assert scalars(d=3)["d"] == 3.0


def test_a_ctypes_structure_goes_by_value(scalars):
    class Pair(ctypes.Structure):
        _fields_ = (("a", ctypes.c_float), ("b", ctypes.c_int))

    assert struct.unpack("fi", scalars(pair=Pair(4.0, 2))["pair"]) == (4.0, 2)


REFUSED_SCALARS = [
    ({"u": -1}, "u = -1 does not fit unsigned, which holds 0 to 4294967295"),
    ({"u": 2**32}, "u = 4294967296 does not fit unsigned"),
    ({"c": 128}, "c = 128 does not fit char, which holds -128 to 127"),
    ({"q": 2.0}, "q is long long, 2.0 is a float: pass an int"),
    ({"q": np.float64(2)}, "q is long long, np.float64(2.0) is a float: pass an int"),
    ({"q": "2"}, "q is long long, a str was given"),
    ({"q": None}, "q is long long, a NoneType was given"),
    ({"flag": 2}, "flag is bool, 2 is neither True nor False"),
    ({"h": 65520.0}, "h = 65520.0 is too large for half"),
    ({"d": 10**400}, "is too large for double"),
    ({"d": "1.5"}, "d is double, a str was given"),
    ({"d": 1j}, "d is double, a complex was given"),
    ({"pair": b"1234567"}, "pair is Pair of 8 bytes, 7 were given"),
    ({"pair": 1.0}, "pair is Pair, 8 bytes by value: pass bytes"),
]


@pytest.mark.parametrize(("changed", "message"), REFUSED_SCALARS, ids=[message for _, message in REFUSED_SCALARS])
def test_a_refused_scalar_is_named_with_its_value_and_limit(fake, scalars, changed, message):
    with pytest.raises(gs.LaunchError) as refused:
        scalars(**changed)
    assert message in str(refused.value)
    assert str(refused.value).startswith("scalars: ")
    assert not fake.launches


@given(st.floats(allow_nan=True, width=64))
def test_float32_parameters_round_as_numpy_does(value):
    field = scalar_field("k: a", "float", "f32", 4, "float32")
    with np.errstate(over="ignore"):
        expected = np.float32(value)
    if np.isinf(expected) and np.isfinite(value):
        with pytest.raises(gs.LaunchError):
            field.convert(value)
    else:
        assert struct.pack("<f", field.convert(value)) == expected.tobytes() or np.isnan(value)


@given(st.floats(allow_nan=False, width=64))
def test_bfloat16_parameters_round_once(value):
    nearest = pytest.importorskip("ml_dtypes").bfloat16
    field = scalar_field("k: a", "__nv_bfloat16", "b8[2]", 2, "bfloat16")
    try:
        bits = field.convert(value)
    except gs.LaunchError:
        assert abs(value) >= 2.0**128 - 2.0**119
        return
    # Against the neighbours, since ml_dtypes goes by way of float32 and rounds twice.
    got = float(np.array(bits, np.uint16).view(nearest))
    around = [float(np.array(bits + step, np.uint16).view(nearest)) for step in (-1, 1) if 0 <= bits + step < 1 << 16]
    assert got == value or all(abs(got - value) <= abs(each - value) for each in around if np.isfinite(each))


@given(st.integers(min_value=-(2**70), max_value=2**70), st.sampled_from([8, 16, 32, 64]), st.booleans())
def test_integers_fit_or_are_refused(value, bits, signed):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    field = scalar_field("k: n", "type", f"u{bits}", bits // 8, f"{'' if signed else 'u'}int{bits}")
    if low <= value <= high:
        assert struct.unpack(f"<{field.code}", struct.pack(f"<{field.code}", field.convert(value))) == (value,)
    else:
        with pytest.raises(gs.LaunchError, match="does not fit"):
            field.convert(value)
