"""cvt and mov against exact fractions: every pair of types, every rounding, the values where they differ."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from exact_formats import FORMATS, integral, interesting, to_integer
from hypothesis import given, settings
from hypothesis import strategies as st
from ptx_programs import against, edges, grid, run_instruction, run_instructions

INTEGERS = {f"{s}{w}": np.dtype(f"{'i' if s == 's' else 'u'}{w // 8}") for s in "us" for w in (8, 16, 32, 64)}
FLOATS = ("f16", "bf16", "f32", "f64")
ROUNDINGS = ("rn", "rz", "rm", "rp")
INTEGRAL = ("rni", "rzi", "rmi", "rpi")
Model = Callable[..., int]


def limits(t: str) -> tuple[int, int]:
    info = np.iinfo(INTEGERS[t])
    return int(info.min), int(info.max)


def cut(value: int, t: str) -> int:
    """The low bits of a number, read as type t."""
    low, high = limits(t)
    value &= high - low
    return value - (high - low + 1) if value > high else value


def clamped(value: int, t: str) -> int:
    low, high = limits(t)
    return max(low, min(value, high))


# -- integers ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("of", INTEGERS)
def test_between_integers(of: str) -> None:
    """The destination is a 64-bit register, so the extension to it is seen as well."""
    models: dict[str, Model] = {f"cvt.{to}.{of} {{d}}, {{a}};": lambda x, to=to: cut(x, to) for to in INTEGERS}
    models |= {f"cvt.sat.{to}.{of} {{d}}, {{a}};": lambda x, to=to: clamped(x, to) for to in INTEGERS}
    values = {v for t in INTEGERS for v in (*limits(t), limits(t)[1] + 1, limits(t)[0] - 1)}
    inside = [v for v in sorted(values) if cut(v, of) == v]
    against(models, [np.array([*edges(INTEGERS[of]), *inside], INTEGERS[of])], np.uint64)


def test_the_upper_bits_of_a_wider_source_are_not_read() -> None:
    values = [np.array([0x12345680, 0xFFFFFF7F, 0xABCD8001, 0x00FF00FF], np.uint32)]
    models: dict[str, Model] = {
        f"cvt.s32.{of} {{d}}, {{a}};": lambda x, of=of: cut(x, of) for of in ("s8", "u8", "s16", "u16", "s32")
    }
    against(models, values, np.uint32)


@pytest.mark.parametrize(("of", "constant"), [("u8", 300), ("s8", 200), ("u16", 70000), ("s16", -1), ("u32", 5)])
def test_constants_of_any_width_are_converted(of: str, constant: int) -> None:
    (got,) = run_instructions([f"cvt.u64.{of} {{d}}, {constant};"], [np.zeros(1, np.uint32)], np.uint64)
    assert got.tolist() == [cut(cut(constant, of), "u64")]


def test_the_upper_half_of_a_wider_thread_index_is_not_read() -> None:
    """Thread indices are followed symbolically, so the same rule is tested on them too."""
    lanes = [np.arange(32, dtype=np.uint32)]
    for of, to in (("u32", "u64"), ("s32", "s64"), ("u32", "u32")):
        (got,) = run_instructions(
            [f"cvt.u64.u32 %w0, %tid.x; shl.b64 %w1, %w0, 31; cvt.{to}.{of} {{d}}, %w1;"], lanes, np.uint64
        )
        assert got.tolist() == [cut(cut(i << 31, of), "u64") for i in range(32)]


@pytest.mark.parametrize("to", ["u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"])
def test_pack(to: str) -> None:
    size, values = int(to[1:]), edges(np.int32, 40000, -40000, 200, -200, 5, -5)
    low, high = (-(1 << size - 1), (1 << size - 1) - 1) if to[0] == "s" else (0, (1 << size) - 1)

    def packed(x: int, y: int, c: int) -> int:
        parts = [max(low, min(v, high)) & ((1 << size) - 1) for v in (y, x)]
        return parts[0] | parts[1] << size | c << 2 * size

    if size == 16:
        models: dict[str, Model] = {f"cvt.pack.sat.{to}.s32 {{d}}, {{a}}, {{b}};": lambda x, y, c: packed(x, y, 0)}
    else:
        models = {f"cvt.pack.sat.{to}.s32.b32 {{d}}, {{a}}, {{b}}, {{c}};": packed}
    against(models, grid(values, values, [0, 0x9ABCDEF7], dtypes=[np.int32, np.int32, np.uint32]), np.uint32)


# -- floats to integers -----------------------------------------------------------------------------------------------
@pytest.mark.parametrize("of", FLOATS)
def test_floats_to_integers(of: str) -> None:
    """Out of range saturates; NaN is 0, or the top bit from f64 and to 64 bits."""

    def model(to: str, mode: str) -> Model:
        nan = 1 << INTEGERS[to].itemsize * 8 - 1 if of == "f64" or to[1:] == "64" else 0
        low, high = limits(to)
        return lambda bits: cut(to_integer(FORMATS[of].decode(bits), mode, low, high, nan), to)

    models = {f"cvt.{mode}.{to}.{of} {{d}}, {{a}};": model(to, mode) for to in INTEGERS for mode in INTEGRAL}
    against(models, [interesting(of)], np.uint64)


def flushed(bits: int) -> int:
    return bits if bits & 0x7F800000 else bits & 0x80000000


def test_flushing_before_rounding_up() -> None:
    bits = np.array([0, 1, 0x7FFFFF, 0x800000, 0x80000001, 0x807FFFFF, 0x80800000], np.uint32)
    models: dict[str, Model] = {
        f"cvt.{mode}.ftz.s32.f32 {{d}}, {{a}};": lambda x, m=mode: to_integer(
            FORMATS["f32"].decode(flushed(x)), m, *limits("s32"), 0
        )
        for mode in INTEGRAL
    }
    against(models, [bits], np.uint32)


# -- integers to floats -----------------------------------------------------------------------------------------------
def hard_integers(of: str) -> np.ndarray:
    """Integers with one digit too many for a format, just below, at and just above the middle."""
    low, high = limits(of)
    values = {s * ((1 << n) + d) for n in range(64) for d in (-2, -1, 0, 1, 2) for s in (1, -1)}
    for digits in (8, 11, 24, 53):
        for shift in range(0, 64 - digits, 3):
            for leading in ((1 << digits) - 1, (1 << digits - 1) + 1, (1 << digits - 1) + 2):
                half = (1 << shift) >> 1
                values |= {s * ((leading << shift) + half + d) for d in (-1, 0, 1) for s in (1, -1)}
    inside = [v for v in sorted(values) if low <= v <= high]
    return np.array([*edges(INTEGERS[of]), *inside], INTEGERS[of])


@pytest.mark.parametrize("of", INTEGERS)
@pytest.mark.parametrize("to", FLOATS)
def test_integers_to_floats(of: str, to: str) -> None:
    target = FORMATS[to]
    models: dict[str, Model] = {
        f"cvt.{mode}.{to}.{of} {{d}}, {{a}};": lambda x, m=mode: target.encode(Fraction(x), m) for mode in ROUNDINGS
    }
    if to != "bf16":
        models[f"cvt.rn.sat.{to}.{of} {{d}}, {{a}};"] = lambda x: target.encode(Fraction(max(0, min(x, 1))))
    against(models, [hard_integers(of)], f"u{target.width // 8}")


# -- between floats ---------------------------------------------------------------------------------------------------
def limited(value: float | Fraction) -> float | Fraction:
    """What .sat makes of a value."""
    return 0.0 if math.isnan(value) or value <= 0 else min(value, Fraction(1))


@pytest.mark.parametrize(("of", "to"), [(of, to) for of in FLOATS for to in ("f16", "bf16") if of != to])
def test_floats_to_halves(of: str, to: str) -> None:
    source, target = FORMATS[of], FORMATS[to]
    models: dict[str, Model] = {
        f"cvt.{m}.{to}.{of} {{d}}, {{a}};": lambda x, m=m: target.encode(source.decode(x), m) for m in ROUNDINGS
    }
    if to == "f16":
        models[f"cvt.rn.sat.{to}.{of} {{d}}, {{a}};"] = lambda x: target.encode(limited(source.decode(x)))
    against(models, [interesting(of, to)], np.uint16)


@pytest.mark.parametrize("mode", ROUNDINGS)
def test_f64_to_f32(mode: str) -> None:
    source, target = FORMATS["f64"], FORMATS["f32"]

    def flush_after(x: int) -> int:
        return flushed(target.encode(source.decode(x), mode))

    models: dict[str, Model] = {
        f"cvt.{mode}.f32.f64 {{d}}, {{a}};": lambda x: target.encode(source.decode(x), mode),
        f"cvt.{mode}.ftz.f32.f64 {{d}}, {{a}};": flush_after,
        f"cvt.{mode}.sat.f32.f64 {{d}}, {{a}};": lambda x: target.encode(limited(source.decode(x)), mode),
    }
    against(models, [interesting("f64", "f32")], np.uint32)


def test_flushing_counts_as_if_exponents_had_no_end() -> None:
    """2⁻¹²⁶ · (1 - k · 2⁻²⁷) has the tie to 2⁻¹²⁶ at k = 4 with all 24 digits, at 8 with subnormal steps (an H200)."""
    values = np.array([2.0**-126 * (1 - k * 2.0**-27) for k in range(17)])
    kept = {"rn": 4, "rz": 0, "rm": 0, "rp": 7}  # the greatest k that rounds up to 2⁻¹²⁶
    texts = [f"cvt.{mode}.ftz.f32.f64 {{d}}, {{a}};" for mode in kept]
    for got, most in zip(run_instructions(texts, [values], np.float32), kept.values(), strict=True):
        assert got.tolist() == [2.0**-126 if k <= most else 0 for k in range(17)]


def test_a_subnormal_f32_counts_on_its_way_to_f16() -> None:
    bits = np.array([1, 0x7FFFFF, 0x80000001], np.uint32).view(np.float32)
    up, down = run_instructions([f"cvt.{m}.ftz.f16.f32 {{d}}, {{a}};" for m in ("rp", "rm")], [bits], np.uint16)
    assert up.tolist() == [1, 1, 0x8000]
    assert down.tolist() == [0, 0, 0x8001]


def check_values(text: str, bits: np.ndarray, to: str, model: Callable[[int], float | Fraction]) -> None:
    """Where any NaN will do: ISA and hardware leave its bits open."""
    target = FORMATS[to]
    got = run_instruction(text, [bits], f"u{target.width // 8}").tolist()
    for x, result in zip(bits.tolist(), got, strict=True):
        wanted = target.encode(model(x))
        if wanted == target.nan:
            assert isinstance(target.decode(result), float), f"{text} of {x:#x} gave {result:#x}, not NaN"
            assert math.isnan(target.decode(result)), f"{text} of {x:#x} gave {result:#x}, not NaN"
        else:
            assert result == wanted, f"{text} of {x:#x} gave {result:#x}, not {wanted:#x}"


@pytest.mark.parametrize(
    ("to", "of"), [("f32", "f16"), ("f32", "bf16"), ("f64", "f16"), ("f64", "bf16"), ("f64", "f32"), ("f32", "f32")]
)
def test_widening_is_exact(to: str, of: str) -> None:
    bits = np.arange(1 << 16, dtype=np.uint16)[::7] if FORMATS[of].width == 16 else interesting(of)
    check_values(f"cvt.{to}.{of} {{d}}, {{a}};", bits, to, FORMATS[of].decode)


@pytest.mark.parametrize("t", FLOATS)
@pytest.mark.parametrize("mode", INTEGRAL)
def test_rounding_to_whole_floats(t: str, mode: str) -> None:
    check_values(f"cvt.{mode}.{t}.{t} {{d}}, {{a}};", interesting(t), t, lambda x: integral(FORMATS[t].decode(x), mode))


def test_sat_and_ftz_between_f32() -> None:
    f32 = FORMATS["f32"]
    models: dict[str, Model] = {
        "cvt.sat.f32.f32 {d}, {a};": lambda x: f32.encode(limited(f32.decode(x))),
        "cvt.ftz.sat.f32.f32 {d}, {a};": lambda x: f32.encode(limited(f32.decode(flushed(x)))),
        "cvt.rpi.ftz.sat.f32.f32 {d}, {a};": lambda x: f32.encode(limited(integral(f32.decode(flushed(x)), "rpi"))),
    }
    against(models, [interesting("f32")], np.uint32)
    check_values("cvt.ftz.f64.f32 {d}, {a};", interesting("f32"), "f64", lambda x: f32.decode(flushed(x)))
    check_values("cvt.ftz.f32.f32 {d}, {a};", interesting("f32"), "f32", lambda x: f32.decode(flushed(x)))


# -- laws -------------------------------------------------------------------------------------------------------------
@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(width=64, allow_nan=False), min_size=1, max_size=32))
def test_rounding_down_and_up_enclose_the_value(values: list[float]) -> None:
    x = np.array(values)
    down, up = run_instructions(["cvt.rm.f32.f64 {d}, {a};", "cvt.rp.f32.f64 {d}, {a};"], [x], np.float32)
    assert np.all(down.astype(np.float64) <= x)
    assert np.all(up.astype(np.float64) >= x)
    exact = down == x
    assert np.all(down[exact] == up[exact])


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 2**16 - 1), min_size=1, max_size=32), st.sampled_from(["f16", "bf16"]))
def test_a_half_survives_the_way_through_f32(codes: list[int], t: str) -> None:
    x = np.array([c for c in codes if c & 0x7FFF <= FORMATS[t].infinity] or [0], np.uint16)
    text = f"cvt.f32.{t} %s0, {{a}}; cvt.rz.{t}.f32 {{d}}, %s0;"
    assert run_instruction(text, [x], np.uint16).tolist() == x.tolist()
