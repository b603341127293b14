"""The special functions within the bounds of the PTX ISA, on samples of every exponent and at the edges."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from exact_floats import assert_same
from ptx_programs import in_all_modes, run_instructions

CANONICAL = 0x7FFFFFFF
TINY = float(np.finfo(np.float32).tiny)


def every_exponent(per: int, seed: int) -> np.ndarray:
    """`per` random significands for each exponent and sign: the whole range of f32, subnormals included."""
    rng = np.random.default_rng(seed)
    exponents = np.repeat(np.arange(255, dtype=np.uint32), per)
    words = exponents << 23 | rng.integers(0, 1 << 23, len(exponents), np.uint32)
    return np.concatenate([words, words | np.uint32(1 << 31)]).view(np.float32)


def run(text: str, x: np.ndarray) -> np.ndarray:
    return run_instructions([text], [x], np.float32)[0]


def ulps(got: np.ndarray, exact: np.ndarray) -> np.ndarray:
    """Distance from the exact value in units of the last place of the correctly rounded one."""
    with np.errstate(over="ignore", under="ignore"):
        unit = np.spacing(np.abs(exact.astype(np.float32))).astype(np.float64)
    return np.abs(got.astype(np.float64) - exact) / unit


def test_exp2_is_within_two_units_over_all_of_its_range() -> None:
    x = np.concatenate([np.random.default_rng(1).uniform(-150, 128, 60000).astype(np.float32), every_exponent(20, 2)])
    with np.errstate(over="ignore"):
        exact = np.exp2(x.astype(np.float64))
    got, flushed = run_instructions(["ex2.approx.f32 {d}, {a};", "ex2.approx.ftz.f32 {d}, {a};"], [x], np.float32)
    with np.errstate(over="ignore"):
        inside = np.isfinite(exact.astype(np.float32))
    assert ulps(got[inside], exact[inside]).max() <= 1.1  # the ISA allows 2
    assert np.isposinf(got[x >= 128]).all()
    assert (got[x < -150] == 0).all()
    np.testing.assert_array_equal(flushed, np.where(got < TINY, np.float32(0), got))


def test_exp2_of_integers_is_exact() -> None:
    n = np.arange(-149, 128).astype(np.float32)
    np.testing.assert_array_equal(run("ex2.approx.f32 {d}, {a};", n), np.exp2(n.astype(np.float64)).astype(np.float32))


def test_log2_is_within_2_to_the_minus_22() -> None:
    rng = np.random.default_rng(3)
    x = np.abs(np.concatenate([every_exponent(40, 4), rng.uniform(0.5, 2, 60000).astype(np.float32)]))
    x = x[x > 0]
    exact = np.log2(x.astype(np.float64))
    got = run("lg2.approx.f32 {d}, {a};", x)
    near = (x > 0.5) & (x < 2)
    assert np.abs(got - exact)[near].max() <= 2**-22
    assert np.abs(got / exact - 1)[~near].max() <= 2**-22
    flushed = run("lg2.approx.ftz.f32 {d}, {a};", x)
    np.testing.assert_array_equal(flushed, np.where(x < TINY, -np.inf, got))


def test_log2_of_powers_of_two_is_exact() -> None:
    n = np.arange(-149, 128)
    x = np.exp2(n.astype(np.float64)).astype(np.float32)
    np.testing.assert_array_equal(run("lg2.approx.f32 {d}, {a};", x), n.astype(np.float32))


@pytest.mark.parametrize(("opcode", "function"), [("sin", np.sin), ("cos", np.cos)])
def test_sine_and_cosine_are_within_their_bounds(opcode: str, function: Callable[[np.ndarray], np.ndarray]) -> None:
    rng = np.random.default_rng(5)
    near = rng.uniform(-2 * np.pi, 2 * np.pi, 80000).astype(np.float32)
    far = rng.uniform(-100 * np.pi, 100 * np.pi, 80000).astype(np.float32)
    for x, bound in ((near, 2**-20.5), (far, 2**-14.7)):
        error = np.abs(run(f"{opcode}.approx.f32 {{d}}, {{a}};", x) - function(x.astype(np.float64)))
        assert error.max() <= bound
    wild = run(f"{opcode}.approx.f32 {{d}}, {{a}};", np.concatenate([every_exponent(200, 6), near]))
    assert np.abs(wild).max() == 1


def test_sine_counts_the_small_angles_that_hopper_counts() -> None:
    """Angles are multiples of 2π · 2^-25: what is less than the first has the sine 0, as on the hardware."""
    step = 2 * np.pi * 2.0**-25
    x = np.array([1e-30, 0.5 * step, 0.99 * step, 1.01 * step, 1.99 * step, 2.01 * step], np.float32)
    np.testing.assert_allclose(run("sin.approx.f32 {d}, {a};", x), np.array([0, 0, 0, 1, 1, 2]) * step, rtol=1e-6)


RECORDED = np.load(Path(__file__).parents[3] / "fixtures" / "approximate_h200.npz")
"""For each function inputs of every exponent, and what an H200 gives for them (bench/approximate.py sample)."""

APART = {
    "ex2": (2, 0.1), "lg2": (2**-16, 2**-18), "sin": (2**-21.5, 2**-25), "cos": (2**-21.5, 2**-25), "rcp": (1, 0.2),
    "rsqrt": (2, 0.4), "sqrt": (1, 0.25), "tanh": (200, 8),
}  # fmt: skip
"""The furthest and the mean distance: in units in the last place; of lg2, sin and cos (to 100π) absolute."""


@pytest.mark.parametrize("opcode", list(APART))
def test_as_near_to_an_h200_as_ever(opcode: str) -> None:
    """Over all inputs: bench/results/approximate_h200.json."""
    bits, wanted = RECORDED[f"{opcode}.approx.f32"]
    x, theirs = bits.view(np.float32), wanted.view(np.float32)
    mine = run(f"{opcode}.approx.f32 {{d}}, {{a}};", x)
    np.testing.assert_array_equal(np.isnan(mine), np.isnan(theirs))
    both = np.isfinite(mine) & np.isfinite(theirs)
    np.testing.assert_array_equal(mine[~both & ~np.isnan(mine)], theirs[~both & ~np.isnan(mine)])
    if opcode in ("sin", "cos"):
        both &= np.abs(x) <= 100 * np.pi
    apart = np.abs(mine[both].astype(np.float64) - theirs[both])
    if opcode not in ("lg2", "sin", "cos"):
        apart /= np.spacing(np.minimum(np.abs(mine[both]), np.abs(theirs[both])), dtype=np.float32)
    most, mean = APART[opcode]
    assert apart.max() <= most
    assert apart.mean() <= mean


def test_tanh_is_within_2_to_the_minus_11() -> None:
    x = np.concatenate([every_exponent(40, 7), np.random.default_rng(8).uniform(-4, 4, 60000).astype(np.float32)])
    x = x[x != 0]
    exact = np.tanh(x.astype(np.float64))
    got = run("tanh.approx.f32 {d}, {a};", x)
    small = np.abs(x) < 1e-3
    assert np.abs(got / exact - 1)[~small].max() <= 2**-16.9  # the ISA allows 2^-11, an H200 is within 2^-16.9
    np.testing.assert_allclose(got[small], exact[small], rtol=2**-19, atol=2.0**-149)


EDGES = {
    "sin.approx.f32": [np.nan, -0.0, 0.0, np.nan, np.nan],
    "cos.approx.f32": [np.nan, 1.0, 1.0, np.nan, np.nan],
    "lg2.approx.f32": [np.nan, -np.inf, -np.inf, np.inf, np.nan],
    "ex2.approx.f32": [0.0, 1.0, 1.0, np.inf, np.nan],
    "tanh.approx.f32": [-1.0, -0.0, 0.0, 1.0, np.nan],
}
"""The ISA's results for -inf, -0, +0, +inf and NaN."""


def test_edges_are_those_of_the_tables_in_the_isa_in_every_mode() -> None:
    x = np.resize(np.array([-np.inf, -0.0, 0.0, np.inf, np.nan], np.float32), 40)
    wanted = [np.resize(np.array(row, np.float32), 40) for row in EDGES.values()]

    def check(number: int, got: np.ndarray, elements: np.ndarray) -> None:
        assert_same(got, wanted[number][elements], list(EDGES)[number], [x[elements]])
        assert set(got.view(np.uint32)[np.isnan(got)].tolist()) <= {CANONICAL}

    in_all_modes([f"{name} {{d}}, {{a}};" for name in EDGES], [x], np.float32, check)


def test_every_mode_gives_the_same_bits() -> None:
    x = every_exponent(1, 9)
    texts = [f"{name} {{d}}, {{a}};" for name in EDGES]
    whole = run_instructions(texts, [x], np.float32)

    def check(number: int, got: np.ndarray, elements: np.ndarray) -> None:
        np.testing.assert_array_equal(got.view(np.uint32), whole[number].view(np.uint32)[elements])

    in_all_modes(texts, [x], np.float32, check)
    negative = x[(x < 0) & np.isfinite(x)]
    assert np.isnan(run("lg2.approx.f32 {d}, {a};", negative)).all()


def test_tanh_is_wrong_by_as_much_as_an_h200() -> None:
    """So that what needs more than hardware has does not look right here."""
    bits, theirs = RECORDED["tanh.approx.f32"]
    x = bits.view(np.float32)
    middle = (np.abs(x) > 2**-7) & (np.abs(x) < 2)
    exact = np.tanh(x[middle].astype(np.float64))
    own, others = (
        np.abs(each[middle] / exact - 1).mean() for each in (run("tanh.approx.f32 {d}, {a};", x), theirs.view("f4"))
    )
    assert 0.5 < own / others < 2


def test_log2_near_one_is_right_absolutely_and_no_further() -> None:
    """As on an H200, which is up to 0.96 · 2^-22 away there: relative to the result that is everything."""
    x = 1 + np.arange(1, 200, dtype=np.float32) * np.float32(2**-23)
    error = np.abs(run("lg2.approx.f32 {d}, {a};", x) - np.log2(x.astype(np.float64)))
    assert error.max() <= 2**-22
    assert error.mean() > 2**-25
