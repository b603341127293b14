"""f16, bf16 and their pairs against exact fractions: one rounding, .ftz, .sat, .relu, NaN, packing."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import exact_floats as model
import ml_dtypes
import numpy as np
import pytest
from exact_floats import BF16, F16, Format, edges, extreme, instruction
from ptx_programs import in_all_modes, run_instructions

KINDS = {"f16": (F16, np.dtype(np.float16)), "bf16": (BF16, np.dtype(ml_dtypes.bfloat16))}
NAN = 0x7FFF


def bits(numbers: Sequence[float], dtype: np.dtype) -> np.ndarray:
    """Numbers that the format holds, as its bits; NaN canonical."""
    x = np.array(numbers, np.float64)
    with np.errstate(over="ignore"):
        return np.where(np.isnan(x), np.uint16(NAN), x.astype(np.float32).astype(dtype).view(np.uint16)).astype(
            np.uint16
        )


def numbers(words: np.ndarray, dtype: np.dtype) -> list[float]:
    return [float(x) for x in words.view(dtype).astype(np.float32)]


def samples(form: Format, dtype: np.dtype, count: int, seed: int) -> list[np.ndarray]:
    """Combinations of edges, random bits, and sums that all but cancel, as bits."""
    rng = np.random.default_rng(seed)
    few = edges(form) if count < 3 else edges(form)[::3]
    rows = [bits(column, dtype) for column in zip(*itertools.product(few, repeat=count), strict=True)]
    random = rng.integers(0, 1 << 16, (count, 500), np.uint16)
    near = rng.normal(size=(count, 500)).astype(np.float32)
    near[-1] = -near[0] * (near[1] if count == 3 else 1) * rng.choice([1, 2.0**-9, 2.0**-12], 500)
    close = near.astype(dtype).view(np.uint16)
    return [np.concatenate(parts) for parts in zip(rows, random, close, strict=True)]


def hold(names: Sequence[str], functions: Sequence[Callable[..., float]], inputs: list[np.ndarray], kind: str) -> None:
    """Scalar and packed forms in all modes; the packed ones get the operands in pairs, the second halves reversed."""
    _, dtype = KINDS[kind]
    operands = ", ".join(f"{{{x}}}" for x in "dabc"[: len(inputs) + 1])

    def wanted(words: list[np.ndarray]) -> list[np.ndarray]:
        rows = list(zip(*(numbers(w, dtype) for w in words), strict=True))
        return [bits([f(*row) for row in rows], dtype) for f in functions]

    low = wanted(inputs)
    check = _checker(names, low, inputs)
    in_all_modes([f"{n}.{kind} {operands};" for n in names], inputs, np.uint16, check)
    high = wanted([w[::-1].copy() for w in inputs])
    pairs = [w.astype(np.uint32) | w[::-1].astype(np.uint32) << 16 for w in inputs]
    both = [a.astype(np.uint32) | c.astype(np.uint32) << 16 for a, c in zip(low, high, strict=True)]
    in_all_modes([f"{n}.{kind}x2 {operands};" for n in names], pairs, np.uint32, _checker(names, both, pairs))


def _checker(
    names: Sequence[str], wanted: list[np.ndarray], inputs: list[np.ndarray]
) -> Callable[[int, np.ndarray, np.ndarray], None]:
    def check(number: int, got: np.ndarray, elements: np.ndarray) -> None:
        wrong = np.flatnonzero(got != wanted[number][elements])
        if len(wrong):
            i = wrong[0]
            shown = ", ".join(hex(x[elements][i]) for x in inputs)
            right = wanted[number][elements][i]
            raise AssertionError(f"{names[number]} of {shown}: {got[i]:#x} instead of {right:#x}; {len(wrong)} wrong")

    return check


def spelled(opcode: str, *modifiers: str) -> str:
    return ".".join((opcode, *filter(None, modifiers)))


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("opcode", ["add", "sub", "mul"])
def test_arithmetic_rounds_once(opcode: str, kind: str) -> None:
    form, dtype = KINDS[kind]
    forms = [(ftz, sat) for ftz in (False, True) for sat in (False, True)] if kind == "f16" else [(False, False)]
    names = [spelled(opcode, "rn", "ftz" if ftz else "", "sat" if sat else "") for ftz, sat in forms]
    functions = [instruction(getattr(model, opcode), form, ftz=ftz, sat=sat) for ftz, sat in forms]
    hold([opcode, *names], [functions[0], *functions], samples(form, dtype, 2, seed=1), kind)


def relu(compute: Callable[..., float]) -> Callable[..., float]:
    def clamped(*args: float) -> float:
        result = compute(*args)
        return 0.0 if result <= 0 else result

    return clamped


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_fused_multiply_add_rounds_once(kind: str) -> None:
    form, dtype = KINDS[kind]
    plain = instruction(model.fma, form)
    names, functions = ["fma.rn", "fma.rn.relu"], [plain, relu(plain)]
    if kind == "f16":
        names += ["fma.rn.ftz", "fma.rn.sat", "fma.rn.ftz.sat", "fma.rn.ftz.relu"]
        flushed = instruction(model.fma, form, ftz=True)
        functions += [flushed, instruction(model.fma, form, sat=True), instruction(model.fma, form, ftz=True, sat=True),
                      relu(flushed)]  # fmt: skip
    hold(names, functions, samples(form, dtype, 3, seed=2), kind)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
def test_signs(kind: str) -> None:
    form, dtype = KINDS[kind]
    inputs = [
        np.array([w for w in samples(form, dtype, 1, seed=3)[0] if not math.isnan(numbers(w.reshape(1), dtype)[0])])
    ]
    names, functions = ["abs", "neg"], [math.fabs, lambda x: -x]
    if kind == "f16":
        names += ["abs.ftz", "neg.ftz"]
        functions += [lambda x: math.fabs(model.flush(F16, x)), lambda x: -model.flush(F16, x)]
    hold(names, functions, inputs, kind)


@pytest.mark.parametrize("kind", ["f16", "bf16"])
@pytest.mark.parametrize("opcode", ["min", "max"])
def test_extremes(opcode: str, kind: str) -> None:
    form, dtype = KINDS[kind]
    forms = ["", "NaN", "xorsign.abs", "NaN.xorsign.abs"] + (["ftz", "ftz.NaN"] if kind == "f16" else [])
    functions = [extreme(opcode, form, words.split(".")) for words in forms]
    hold([spelled(opcode, words) for words in forms], functions, samples(form, dtype, 2, seed=4), kind)


@pytest.mark.parametrize(("kind", "exp2", "bound"), [("f16", "ex2.approx", 2**-9.9), ("bf16", "ex2.approx.ftz", 2**-7)])
def test_exp2_and_tanh_are_within_their_bounds_for_every_half(kind: str, exp2: str, bound: float) -> None:
    form, dtype = KINDS[kind]
    words = np.arange(1 << 16, dtype=np.uint16)
    with np.errstate(invalid="ignore"):
        x = words.view(dtype).astype(np.float64)
    tiny, top = float(form.tiny), float(form.highest)

    def check(number: int, got: np.ndarray, elements: np.ndarray) -> None:
        here, result = x[elements], got.view(dtype).astype(np.float64)
        with np.errstate(over="ignore"):
            exact = (np.exp2, np.tanh)[number](here)
        assert (got[np.isnan(here)] == NAN).all()
        normal = (np.abs(exact) >= tiny) & (np.abs(exact) <= top)
        assert np.max(np.abs(result[normal] / exact[normal] - 1), initial=0) <= (bound, 2 * bound)[number]
        below = np.abs(exact) < tiny
        assert np.max(np.abs(result[below] - exact[below]), initial=0) <= (
            tiny if number == 0 and kind == "bf16" else tiny / 2**7
        )
        assert np.isinf(result[exact > top * (1 + 2.0**-form.digits)]).all()

    in_all_modes([f"{exp2}.{kind} {{d}}, {{a}};", f"tanh.approx.{kind} {{d}}, {{a}};"], [words], np.uint16, check)


@pytest.mark.parametrize(("kind", "dtype"), [("f16", np.float16), ("bf16", ml_dtypes.bfloat16)])
def test_out_of_bounds_operands_give_zero(kind: str, dtype: Any) -> None:
    """0x7ff7 of either sign is what a tensor copy may write outside of a tensor; of all other bits fma is as ever."""
    bits = np.arange(1 << 16, dtype=np.uint16)
    one = np.full_like(bits, np.array([1], dtype).view(np.uint16)[0])
    texts = [f"fma.rn.oob.{kind} {{d}}, {order};" for order in ("{a}, {b}, {b}", "{b}, {a}, {b}", "{b}, {b}, {a}")]
    results = run_instructions([*texts, f"fma.rn.{kind} {{d}}, {{a}}, {{b}}, {{b}};"], [bits, one], np.uint16)
    outside = (bits & 0x7FFF) == 0x7FF7
    for got in results[:3]:
        np.testing.assert_array_equal(got, np.where(outside, 0, results[3]))
