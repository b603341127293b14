"""f32 and f64 arithmetic against exact fractions: every rounding, .ftz, .sat, in every operand mode."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import exact_floats as model
import numpy as np
import pytest
from exact_floats import F32, F64, Format, assert_same, edges, extreme, instruction, values
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from ptx_programs import in_all_modes, run_instruction, run_instructions

MODES = ("rn", "rz", "rm", "rp")
TYPES = {"f32": (F32, np.float32), "f64": (F64, np.float64)}
CANONICAL = 0x7FFFFFFF


def pairs(form: Format, dtype: type, seed: int) -> list[np.ndarray]:
    """All pairs of edges, random bit patterns, and numbers near one another."""
    rng = np.random.default_rng(seed)
    both = np.array(list(itertools.product(edges(form), repeat=2)), dtype)
    random = rng.integers(0, 2**form.bits, (400, 2), f"u{form.bits // 8}").view(dtype)
    close = rng.normal(size=(400, 2)).astype(dtype) * np.array([1, 2.0**-12], dtype)
    rows = np.concatenate([both, random, close])
    return [np.ascontiguousarray(rows[:, i]) for i in range(2)]


def triples(form: Format, dtype: type, seed: int) -> list[np.ndarray]:
    """Edges, random bits, and sums that all but cancel: c close to -a·b."""
    rng = np.random.default_rng(seed)
    few = np.array(list(itertools.product(edges(form)[::4], repeat=3)), dtype)
    random = rng.integers(0, 2**form.bits, (300, 3), f"u{form.bits // 8}").view(dtype)
    near = rng.normal(size=(400, 3)).astype(dtype)
    near[:, 2] = -near[:, 0] * near[:, 1]
    near[::3, 2] = np.nextafter(near[::3, 2], dtype(0))
    near[1::4, 2] *= dtype(2.0**-20)
    small = near[::4] * np.array([float(form.tiny), 1, float(form.tiny)], dtype)
    rows = np.concatenate([few, random, near, small])
    return [np.ascontiguousarray(rows[:, i]) for i in range(3)]


def hold(names: Sequence[str], functions: Sequence[Callable[..., float]], inputs: list[np.ndarray]) -> None:
    """Runs instructions `name d, a, …` in all modes; every result has the model's bits."""
    dtype = inputs[0].dtype
    operands = ", ".join(f"{{{x}}}" for x in "dabc"[: len(inputs) + 1])
    rows = list(zip(*(values(x) for x in inputs), strict=True))
    with np.errstate(over="ignore"):
        wanted = [np.array([f(*row) for row in rows]).astype(dtype) for f in functions]

    def check(number: int, got: np.ndarray, elements: np.ndarray) -> None:
        assert_same(got, wanted[number][elements], names[number], [x[elements] for x in inputs])

    in_all_modes([f"{name} {operands};" for name in names], inputs, dtype, check)


def variants(opcode: str, operation: Callable[..., float], kind: str) -> tuple[list[str], list[Callable[..., float]]]:
    """Every spelling of an operation: roundings, and for f32 .ftz and .sat."""
    form = TYPES[kind][0]
    names, functions = [], []
    for mode, ftz, sat in itertools.product(MODES, (False, True), (False, True)):
        if kind == "f64" and (ftz or sat):
            continue
        if sat and opcode in ("div", "rcp", "sqrt"):
            continue
        words = [opcode, mode, *(["ftz"] if ftz else []), *(["sat"] if sat else []), kind]
        names.append(".".join(words))
        functions.append(instruction(operation, form, mode=mode, ftz=ftz, sat=sat))
    return names, functions


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("opcode", ["add", "sub", "mul", "div"])
def test_arithmetic_is_rounded_as_the_instruction_says(opcode: str, kind: str) -> None:
    names, functions = variants(opcode, getattr(model, opcode), kind)
    form, dtype = TYPES[kind]
    if opcode != "div":
        names.append(f"{opcode}.{kind}")
        functions.append(instruction(getattr(model, opcode), form))
    hold(names, functions, pairs(form, dtype, seed=1))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_fused_multiply_add_rounds_once(kind: str) -> None:
    names, functions = variants("fma", model.fma, kind)
    form, dtype = TYPES[kind]
    names.append(f"mad.rp.{kind}")
    functions.append(instruction(model.fma, form, mode="rp"))
    hold(names, functions, triples(form, dtype, seed=2))


@pytest.mark.parametrize("kind", ["f32", "f64"])
@pytest.mark.parametrize("opcode", ["rcp", "sqrt"])
def test_reciprocal_and_root_are_rounded_as_the_instruction_says(opcode: str, kind: str) -> None:
    names, functions = variants(opcode, getattr(model, opcode), kind)
    form, dtype = TYPES[kind]
    if kind == "f32":
        names += [f"{opcode}.approx.f32", f"{opcode}.approx.ftz.f32"]
        functions += [instruction(getattr(model, opcode), form, ftz=ftz) for ftz in (False, True)]
    elif opcode == "rcp":  # ptxas takes .ftz here, and an H200 flushes nothing
        names += [f"rcp.{mode}.ftz.f64" for mode in ("rn", "rz", "rm", "rp")]
        functions += [instruction(model.rcp, form, mode=mode) for mode in ("rn", "rz", "rm", "rp")]
    hold(names, functions, pairs(form, dtype, seed=3)[:1])


def test_full_division_is_exact_and_approximate_division_loses_the_largest_divisors() -> None:
    def approximate(form: Format, mode: str, x: float, y: float) -> float:
        if 2.0**126 < abs(y) < math.inf:
            return x * math.copysign(0.0, y)
        return model.div(form, mode, x, y)

    names = [f"div.{how}{ftz}.f32" for how in ("full", "approx") for ftz in ("", ".ftz")]
    functions = [instruction(f, F32, ftz=ftz) for f in (model.div, approximate) for ftz in (False, True)]
    hold(names, functions, pairs(F32, np.float32, seed=4))


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_sign_instructions_touch_nothing_but_the_sign(kind: str) -> None:
    def absolute(form: Format, mode: str, x: float) -> float:
        return math.fabs(x)

    def negate(form: Format, mode: str, x: float) -> float:
        return -x

    form, dtype = TYPES[kind]
    flushes = (False, True) if kind == "f32" else (False,)
    names = [f"{op}{'.ftz' if ftz else ''}.{kind}" for op in ("abs", "neg") for ftz in flushes]
    functions = [instruction(f, form, ftz=ftz) for f in (absolute, negate) for ftz in flushes]
    inputs = pairs(form, dtype, seed=5)
    hold(names, functions, inputs[:1])

    def copied(form: Format, mode: str, x: float, y: float) -> float:
        return math.copysign(y, x)

    hold([f"copysign.{kind}"], [instruction(copied, form)], inputs)


# -- min and max ------------------------------------------------------------------------------------------------------
FORMS_OF_MIN = ["", "ftz", "NaN", "ftz.NaN", "xorsign.abs", "ftz.xorsign.abs", "NaN.xorsign.abs", "ftz.NaN.xorsign.abs"]


@pytest.mark.parametrize("opcode", ["min", "max"])
def test_extremes_prefer_numbers_and_order_the_zeros(opcode: str) -> None:
    for kind, forms in (("f32", FORMS_OF_MIN), ("f64", [""])):
        form, dtype = TYPES[kind]
        names = [".".join(filter(None, (opcode, words, kind))) for words in forms]
        hold(names, [extreme(opcode, form, words.split(".")) for words in forms], pairs(form, dtype, seed=6))


def test_single_precision_nans_are_canonical_where_promised() -> None:
    texts = ["div.rn.f32 {d}, {a}, {b};", "div.rz.f32 {d}, {a}, {b};", "add.rm.f32 {d}, {a}, {b};",
             "fma.rz.f32 {d}, {a}, {b}, {b};", "rcp.rn.f32 {d}, {a};", "sqrt.rn.f32 {d}, {a};", "sqrt.rp.f32 {d}, {a};",
             "rsqrt.approx.f32 {d}, {a};", "min.f32 {d}, {a}, {a};", "max.NaN.f32 {d}, {a}, {b};",
             "min.NaN.xorsign.abs.f32 {d}, {a}, {b};", "add.rn.f32 {d}, {a}, 0f80000000;",
             "mul.rn.f32 {d}, {a}, 0f3F800000;", "sub.rn.f32 {d}, {a}, 0f00000000;"]  # fmt: skip
    nans = np.array([0x7F800001, 0xFFC00000, 0xFFFFFFFF, 0x7FC12345], np.uint32).view(np.float32)
    for text, result in zip(texts, run_instructions(texts, [nans, np.ones(4, np.float32)], np.float32), strict=True):
        assert result.view(np.uint32).tolist() == [CANONICAL] * 4, text


# -- the rest ---------------------------------------------------------------------------------------------------------
def classes(x: np.ndarray) -> dict[str, np.ndarray]:
    tiny = np.finfo(x.dtype).tiny
    finite = np.isfinite(x)
    subnormal = finite & (x != 0) & (np.abs(x) < tiny)
    return {"finite": finite, "infinite": np.isinf(x), "number": ~np.isnan(x), "notanumber": np.isnan(x),
            "normal": finite & ~subnormal, "subnormal": subnormal}  # fmt: skip


@pytest.mark.parametrize("kind", ["f32", "f64"])
def test_testp_sorts_every_value(kind: str) -> None:
    form, dtype = TYPES[kind]
    x = pairs(form, dtype, seed=8)[0]
    wanted = classes(x)

    def check(number: int, got: np.ndarray, elements: np.ndarray) -> None:
        name = list(wanted)[number]
        np.testing.assert_array_equal(got, wanted[name][elements], err_msg=f"testp.{name}.{kind}")

    in_all_modes([f"testp.{name}.{kind} {{d}}, {{a}};" for name in wanted], [x], bool, check)


def test_reciprocal_root_is_within_its_bound() -> None:
    x = np.abs(pairs(F32, np.float32, seed=9)[0])
    x = x[(x > 0) & np.isfinite(x)]
    exact = 1 / np.sqrt(x.astype(np.float64))
    plain, flushed = run_instructions(["rsqrt.approx.f32 {d}, {a};", "rsqrt.approx.ftz.f32 {d}, {a};"], [x], np.float32)
    assert np.max(np.abs(plain / exact - 1)) <= 2**-22.9
    normal = x >= np.finfo(np.float32).tiny
    np.testing.assert_array_equal(flushed[normal], plain[normal])
    assert np.isposinf(flushed[~normal]).all()
    double = run_instruction("rsqrt.approx.f64 {d}, {a};", [x.astype(np.float64)], np.float64)
    assert np.max(np.abs(double / exact - 1)) <= 2**-51


def test_reciprocal_root_at_the_edges() -> None:
    x = np.array([-np.inf, -1, -0.0, 0.0, np.inf, np.nan], np.float32)
    for kind, dtype in (("f32", np.float32), ("f64", np.float64)):
        got = run_instruction(f"rsqrt.approx.{kind} {{d}}, {{a}};", [x.astype(dtype)], dtype)
        assert_same(
            got, np.array([np.nan, np.nan, -np.inf, np.inf, 0, np.nan], dtype), f"rsqrt.{kind}", [x.astype(dtype)]
        )


@pytest.mark.parametrize("opcode", ["rcp", "rsqrt"])
def test_gross_double_forms_work_on_upper_words(opcode: str) -> None:
    rng = np.random.default_rng(10)
    x = np.exp2(rng.uniform(-1000, 1000, 256)) * (1 if opcode == "rsqrt" else rng.choice([-1, 1], 256))
    edge = np.array([np.nan, np.inf, 0.0, -0.0, 5e-324, -5e-324, 2.0**1023])
    got = run_instruction(f"{opcode}.approx.ftz.f64 {{d}}, {{a}};", [np.concatenate([x, edge])], np.float64)
    assert not (got.view(np.uint64) & 0xFFFFFFFF).any()
    exact = 1 / x if opcode == "rcp" else 1 / np.sqrt(x)
    assert np.max(np.abs(got[:256] / exact - 1)) < 2**-18
    assert got[256:].view(np.uint64)[0] == 0x7FFFFFFF00000000
    largest = 0.0 if opcode == "rcp" else got[-1]  # 1 / 2^1023 is subnormal
    assert got[257:].tolist() == [0.0, np.inf, -np.inf, np.inf, -np.inf, largest]


floats32 = st.floats(width=32)


@settings(max_examples=6, deadline=None, phases=[Phase.explicit, Phase.reuse, Phase.generate])
@given(st.lists(st.tuples(floats32, floats32, floats32), min_size=64, max_size=64))
def test_any_numbers_at_all(rows: list[tuple[float, float, float]]) -> None:
    inputs = [np.array(column, np.float32) for column in zip(*rows, strict=True)]
    texts = [f"fma.{mode}{ftz}.f32 {{d}}, {{a}}, {{b}}, {{c}};" for mode in MODES for ftz in ("", ".ftz")]
    results = run_instructions(texts, inputs, np.float32)
    for (mode, ftz), got in zip(itertools.product(MODES, (False, True)), results, strict=True):
        compute = instruction(model.fma, F32, mode=mode, ftz=ftz)
        wanted = np.array([compute(*row) for row in rows]).astype(np.float32)
        assert_same(got, wanted, f"fma.{mode}", inputs)


@pytest.mark.parametrize(
    "text",
    [
        "add.rn.f32.f16 {d}, {h}, {a};",
        "add.sat.f64 {v}, {v}, {v};",
        "rcp.rn.sat.f32 {d}, {a};",
        "div.rn.relu.f32 {d}, {a}, {a};",
    ],
)
def test_what_is_not_known_is_refused(text: str) -> None:
    from gridstride.virtual.errors import UnsupportedInstruction
    from gridstride.virtual.ptx import PtxError

    text = text.replace("{h}", "%h0").replace("{v}", "%v0")
    with pytest.raises((PtxError, UnsupportedInstruction), match=r"does not have|needs|has no|cannot have"):
        run_instruction(text, [np.ones(32, np.float32)], np.float32)
