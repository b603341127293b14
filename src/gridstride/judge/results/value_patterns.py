"""Patterns that are seen in the wrong values themselves: rounded, flushed, scaled, not finite."""

from __future__ import annotations

import numpy as np

from gridstride.judge.results.evidence import (
    COARSE,
    LIKELY,
    MOST_OF_THEM,
    Evidence,
    Pattern,
    all_finite,
    mostly_true,
    span,
    were,
)

_NARROW = 14  # bits: what was rounded to half or tf32 on the way is not right to more
FEWER_BITS = "Likely part of the arithmetic is done in fewer bits (half, bf16, tf32)."
ALL_WIDE = (
    "Its code has no arithmetic in fewer bits: likely a term is left out or counted twice, or a count, a weight or a "
    "constant is only nearly right."
)
_SOME = 4  # wrong elements up to which a term that is missing looks like a rounding error
_FLUSHES = (
    "denormals were flushed to zero (an instruction with .ftz, an approximate function such as __fdividef or __expf, "
    "fast math)"
)
_MANY = 0.25  # of all elements: fewer lie where they are wrong, more are wrong for what they are
_SMALL = 16  # times the smallest normal number, up to which a 0 is taken for a denormal that was flushed


def not_a_number(e: Evidence) -> Pattern | None:
    if e.got.dtype.kind != "f":
        return None
    bad = e.wrong & ~np.isfinite(e.got) & np.isfinite(e.expected)
    if not bad.any():
        return None
    mistake = (
        "Likely an overflow (exp of a large number), a division by zero, Inf - Inf or 0 · Inf, or a value used before "
        "it is set (shared memory starts with any)."
    )
    return Pattern("not_a_number", f"{span(bad)} {were(bad)} NaN or Inf", mistake, bad)


def flushed(e: Evidence) -> Pattern | None:
    """Zeros where denormal numbers belong, or where normal ones do that were made of denormals."""
    if e.got.dtype.kind != "f" or not e.wrong.any() or (e.got[e.wrong] != 0).any():
        return None
    tiny = float(np.finfo(e.got.dtype).tiny)
    belongs = np.abs(e.expected[e.wrong])
    if not ((belongs > 0) & (belongs < _SMALL * tiny)).all():
        return None
    text = f"{span(e.wrong)} {were(e.wrong)} 0 where a number of at most {belongs.max():.1e} belongs"
    formula = "a formula that gives 0 where the result is only very small"
    if e.got.dtype != np.float32:  # of the others hardware flushes none unasked
        return Pattern("flushed", text, f"Likely {formula}, or a rounding on the way.")
    return Pattern("flushed", text, f"Likely {_FLUSHES}, or {formula}.")


def part_flushed(e: Evidence) -> Pattern | None:
    """Small numbers that are off by less than two denormals: what was added up for them was flushed in part."""
    if e.got.dtype != np.float32 or not e.wrong.any() or e.wrong.mean() < _MANY:
        return None
    tiny = float(np.finfo(e.got.dtype).tiny)
    got, belongs = e.got[e.wrong].astype(np.float64), e.expected[e.wrong]
    if not all_finite(got, belongs) or np.abs(belongs).max() > _SMALL * tiny:
        return None
    off = np.abs(got - belongs).max()
    if off >= 2 * tiny or (got == -belongs).all():
        return None
    text = f"{span(e.wrong)} {were(e.wrong)} off by up to {off:.1e}, where numbers below {tiny:.1e} are denormal"
    return Pattern("flushed", text, f"Likely {_FLUSHES}.")


def nonfinite_lost(e: Evidence) -> Pattern | None:
    """Numbers where NaN or Inf belongs."""
    if e.got.dtype.kind != "f" or not e.wrong.any() or np.isfinite(e.expected[e.wrong]).any():
        return None
    lost = e.wrong & np.isfinite(e.got)
    if not lost.any():
        return _other_nonfinite(e)
    belongs = [name for name, is_kind in (("NaN", np.isnan), ("Inf", np.isinf)) if is_kind(e.expected[lost]).any()]
    is_what = "a number" if int(lost.sum()) == 1 else "numbers"
    text = f"{span(lost)} {were(lost)} {is_what} where {' or '.join(belongs)} belongs"
    mistake = (
        "The inputs hold NaN or Inf, and what is made of them must not get lost: 0 · Inf and 0 · NaN are NaN (zeros "
        "must not be skipped), and fmaxf and fminf pass over NaN."
    )
    return Pattern("nonfinite_lost", text, mistake, lost)


def _other_nonfinite(e: Evidence) -> Pattern:
    """NaN where Inf belongs, or the other way round, or a NaN of other bits."""
    got, belongs = e.got[e.wrong], e.expected[e.wrong]
    if np.isnan(got).all() and np.isnan(belongs).all():
        text = f"{span(e.wrong)} {were(e.wrong)} NaN, as they should be, but with other bits"
        return Pattern("nonfinite_lost", text, "Here every bit counts, and arithmetic gives NaN bits of its own.")
    text = f"{span(e.wrong)} {were(e.wrong)} NaN or Inf, but not the right one: {got[0]:g}, should be {belongs[0]:g}"
    mistake = "Inf - Inf and 0 · Inf on the way are NaN, and whoever tests for one of the two must not take the other."
    return Pattern("nonfinite_lost", text, mistake)


def constant(e: Evidence) -> Pattern | None:
    if e.got.size < 2 or not e.wrong.any() or (e.got != e.got.flat[0]).any():
        return None
    value = e.got.flat[0]
    mistake = "Is the value that is stored ever computed?"
    if value == 0:
        mistake += " Or is it divided by what became Inf on the way (exp of a large number, a half above 65,504)?"
    return Pattern("constant", f"every element is {value:g}", mistake)


def factor(e: Evidence) -> Pattern | None:
    if not mostly_true(e.wrong) or e.got.dtype.kind != "f":
        return None
    used = np.isfinite(e.expected) & (np.abs(e.expected) > 0) & np.isfinite(e.got)
    if not used.any():
        return None
    ratios = e.got[used].astype(np.float64) / e.expected[used]
    factor = float(np.median(ratios))
    ratio = factor if abs(factor) > 1 else 1 / factor if factor else 0.0
    # A single number is a multiple of any other: only a whole factor means anything then.
    too_few = ratios.size < 3 and (abs(ratio - round(ratio)) > 1e-3 or not 2 <= round(abs(ratio)) <= 1024)
    if not factor or too_few or not np.allclose(ratios, factor, rtol=LIKELY) or abs(factor - 1) < 1e-2:
        return None
    mistake = "Likely something is added once for every thread, or a scale is missing or applied twice."
    return Pattern("factor", f"the result is {factor:.4g} times what it should be", mistake)


def offset(e: Evidence) -> Pattern | None:
    if not mostly_true(e.wrong) or e.got.size < 3:
        return None
    if not all_finite(e.got, e.expected):
        return None
    difference = e.got.astype(np.float64) - e.expected
    shift = float(np.median(difference))
    spread = float(np.abs(e.expected).max()) or 1.0
    if not np.allclose(difference, shift, rtol=LIKELY, atol=1e-6 * spread) or abs(shift) < 1e-4 * spread:
        return None
    return Pattern("offset", f"every element is off by {shift:.4g}", "Likely a start value or a rounding term.")


def precision(e: Evidence) -> Pattern | None:
    if e.got.dtype.kind != "f" or not e.wrong.any() or not all_finite(e.got[e.wrong], e.expected[e.wrong]):
        return None
    got, expected = e.got[e.wrong].astype(np.float64), e.expected[e.wrong]
    finite = e.expected[np.isfinite(e.expected)].astype(np.float64)  # of NaN and Inf there is no size
    usual = float(np.median(np.abs(finite)))
    scale = np.maximum(np.abs(expected), usual)
    if not (scale > 0).all():
        return None
    relative = float(np.quantile(np.abs(got - expected) / scale, MOST_OF_THEM))
    if not 0 < relative <= COARSE:
        return None
    bits = -int(np.floor(np.log2(relative)))
    of = np.finfo(e.got.dtype).nmant + 1  # of a small element beside large ones there may be more
    how = f"right to {bits} of their {of} bits" if bits < of else "small, and off in proportion to their own size"
    text = f"{span(e.wrong)} {were(e.wrong)} {how}"
    if bits > _NARROW and e.got.dtype.itemsize > 2:
        mistake = (
            "Likely rounding errors that pile up (a running sum, a long chain of additions), cancellation, or a "
            "function that is approximated (__expf, tanh.approx, a short polynomial, a constant of few digits)."
        )
    else:
        mistake = FEWER_BITS if e.narrow else ALL_WIDE
    if int(e.wrong.sum()) < _SOME and mistake != ALL_WIDE:
        mistake = f"{mistake[:-1]}, or a term of the sum is left out or counted twice."
    return Pattern("precision", text, mistake)
