"""How the wrong elements of a result lie, in words, and the mistake that usually makes them lie so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np

from gridstride.judge.problem import Array

PatternName = Literal[
    "never_written", "not_a_number", "flushed", "nonfinite_lost", "transposed", "constant", "factor", "offset",
    "shifted", "precision", "tail", "border", "columns_above", "rows_above", "columns_every", "rows_every",
    "tile_edges", "permuted", "everywhere", "scattered", "drift",
]  # fmt: skip
PATTERNS: tuple[PatternName, ...] = get_args(PatternName)
"""What a wrong kernel's header may name after `expect: wrong_result`."""

_LIKELY = 1e-3  # relative distance within which a result counts as "the right value, but elsewhere"
_COARSE = 2.0**-6  # relative error up to which a wrong result looks like arithmetic in fewer bits
_MOST_OF_THEM = 0.95  # of the wrong elements, that such arithmetic must explain: where terms cancel, errors are larger
_GROUPS = tuple(1 << bits for bits in range(1, 11))  # elements that are done together: a vector, a warp, a block
_SEVERAL = 8  # elements before a tail, from which on that it begins behind a whole group is no chance
_NARROW = 14  # bits: what was rounded to half or tf32 on the way is not right to more
_FEWER_BITS = "Likely part of the arithmetic is done in fewer bits (half, bf16, tf32)."
_ALL_WIDE = (
    "Its code has no arithmetic in fewer bits: likely a term is left out or counted twice, or a count, a weight or a "
    "constant is only nearly right."
)
_SOME = 4  # wrong elements up to which a term that is missing looks like a rounding error
_WHOLE_EDGE = 0.75  # of the elements on the edges of tiles that must be wrong, so that edges are said to be
_FLUSHES = (
    "denormals were flushed to zero (an instruction with .ftz, an approximate function such as __fdividef or __expf, "
    "fast math)"
)
_MANY = 0.25  # of all elements: fewer lie where they are wrong, more are wrong for what they are
_SMALL = 16  # times the smallest normal number, up to which a 0 is taken for a denormal that was flushed


@dataclass(frozen=True, slots=True)
class Pattern:
    """A name for the pattern, a sentence about the elements, and a guess at the mistake. `elements` are those that the
    sentence is about, where they are not all that are wrong.
    """

    name: PatternName
    text: str
    mistake: str
    elements: Array | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.text}. {self.mistake}" if self.mistake else self.text


@dataclass(frozen=True, slots=True)
class Evidence:
    """One output: what the kernel left, what it should be, which elements are wrong and which were never written.

    `blocks` were launched, of `block` threads each; 0 where that is not known. `narrow`: the kernel may compute in
    fewer bits than float32.
    """

    got: Array
    expected: Array
    wrong: Array
    unwritten: Array
    blocks: int = 0
    block: int = 0
    narrow: bool = True


def describe(evidence: Evidence) -> Pattern:
    """The most telling pattern; there is always one."""
    evidence = replace(evidence, got=_quiet(evidence.got), expected=_quiet(evidence.expected))
    for look in _LOOKS:
        pattern = look(evidence)
        if pattern is not None:
            return pattern
    return _everywhere(evidence)


def _quiet(values: Array) -> Array:
    """The same without signalling NaNs, such as the poison in memory and inputs that are moved bit by bit: whatever is
    done with one is an invalid operation, a mere cast too.
    """
    return np.where(np.isnan(values), values.dtype.type(np.nan), values) if values.dtype.kind == "f" else values


def _never_written(e: Evidence) -> Pattern | None:
    if not e.unwritten.any():
        return None
    where = _where(e.unwritten)
    if e.unwritten.all():
        mistake = "Does the kernel store its result, and is its guard ever true?"
    elif _grid_ends(e):
        mistake = "Likely the grid is too small: the number of blocks must be rounded up, ceil(n / threads)."
    elif e.blocks * e.block >= e.unwritten.size:
        mistake = "There are threads enough: does a guard keep them out, or does their index come out as another's?"
    else:
        mistake = "Likely the grid does not cover them, a guard keeps their threads out, or an index wraps round."
    return Pattern("never_written", f"{where} {_were(e.unwritten)} never written", mistake)


def _grid_ends(e: Evidence) -> bool:
    """Whether what was never written begins where the threads end, each with as many elements as the others."""
    threads = e.blocks * e.block
    written = e.unwritten.size - int(e.unwritten.sum())
    return _is_tail(e.unwritten) and 0 < threads < e.unwritten.size and written % threads == 0


def _not_a_number(e: Evidence) -> Pattern | None:
    if e.got.dtype.kind != "f":
        return None
    bad = e.wrong & ~np.isfinite(e.got) & np.isfinite(e.expected)
    if not bad.any():
        return None
    mistake = (
        "Likely an overflow (exp of a large number), a division by zero, Inf - Inf or 0 · Inf, or a value used before "
        "it is set (shared memory starts with any)."
    )
    return Pattern("not_a_number", f"{_where(bad)} {_were(bad)} NaN or Inf", mistake, bad)


def _flushed(e: Evidence) -> Pattern | None:
    """Zeros where denormal numbers belong, or where normal ones do that were made of denormals."""
    if e.got.dtype.kind != "f" or not e.wrong.any() or (e.got[e.wrong] != 0).any():
        return None
    tiny = float(np.finfo(e.got.dtype).tiny)
    belongs = np.abs(e.expected[e.wrong])
    if not ((belongs > 0) & (belongs < _SMALL * tiny)).all():
        return None
    text = f"{_where(e.wrong)} {_were(e.wrong)} 0 where a number of at most {belongs.max():.1e} belongs"
    formula = "a formula that gives 0 where the result is only very small"
    if e.got.dtype != np.float32:  # of the others hardware flushes none unasked
        return Pattern("flushed", text, f"Likely {formula}, or a rounding on the way.")
    return Pattern("flushed", text, f"Likely {_FLUSHES}, or {formula}.")


def _part_flushed(e: Evidence) -> Pattern | None:
    """Small numbers that are off by less than two denormals: what was added up for them was flushed in part."""
    if e.got.dtype != np.float32 or not e.wrong.any() or e.wrong.mean() < _MANY:
        return None
    tiny = float(np.finfo(e.got.dtype).tiny)
    got, belongs = e.got[e.wrong].astype(np.float64), e.expected[e.wrong]
    if not _finite(got, belongs) or np.abs(belongs).max() > _SMALL * tiny:
        return None
    off = np.abs(got - belongs).max()
    if off >= 2 * tiny or (got == -belongs).all():
        return None
    text = f"{_where(e.wrong)} {_were(e.wrong)} off by up to {off:.1e}, where numbers below {tiny:.1e} are denormal"
    return Pattern("flushed", text, f"Likely {_FLUSHES}.")


def _nonfinite_lost(e: Evidence) -> Pattern | None:
    """Numbers where NaN or Inf belongs."""
    if e.got.dtype.kind != "f" or not e.wrong.any() or np.isfinite(e.expected[e.wrong]).any():
        return None
    lost = e.wrong & np.isfinite(e.got)
    if not lost.any():
        return _other_nonfinite(e)
    belongs = [name for name, there in (("NaN", np.isnan), ("Inf", np.isinf)) if there(e.expected[lost]).any()]
    is_what = "a number" if int(lost.sum()) == 1 else "numbers"
    text = f"{_where(lost)} {_were(lost)} {is_what} where {' or '.join(belongs)} belongs"
    mistake = (
        "The inputs hold NaN or Inf, and what is made of them must not get lost: 0 · Inf and 0 · NaN are NaN (zeros "
        "must not be skipped), and fmaxf and fminf pass over NaN."
    )
    return Pattern("nonfinite_lost", text, mistake, lost)


def _other_nonfinite(e: Evidence) -> Pattern:
    """NaN where Inf belongs, or the other way round, or a NaN of other bits."""
    got, belongs = e.got[e.wrong], e.expected[e.wrong]
    if np.isnan(got).all() and np.isnan(belongs).all():
        text = f"{_where(e.wrong)} {_were(e.wrong)} NaN, as they should be, but with other bits"
        return Pattern("nonfinite_lost", text, "Here every bit counts, and arithmetic gives NaN bits of its own.")
    text = f"{_where(e.wrong)} {_were(e.wrong)} NaN or Inf, but not the right one: {got[0]:g}, should be {belongs[0]:g}"
    mistake = "Inf - Inf and 0 · Inf on the way are NaN, and whoever tests for one of the two must not take the other."
    return Pattern("nonfinite_lost", text, mistake)


def _transposed(e: Evidence) -> Pattern | None:
    if e.got.ndim != 2 or min(e.got.shape) < 2 or not _mostly(e.wrong):
        return None
    rows, columns = e.expected.shape
    stored_by_column = e.expected.T.reshape(rows, columns)
    if not _alike(e.got, stored_by_column) or _alike(e.got, e.expected):
        return None
    mistake = f"Element (row, column) of {rows} rows and {columns} columns lies at row * {columns} + column."
    return Pattern("transposed", "the result is transposed: it is stored column by column", mistake)


def _constant(e: Evidence) -> Pattern | None:
    if e.got.size < 2 or not e.wrong.any() or (e.got != e.got.flat[0]).any():
        return None
    value = e.got.flat[0]
    mistake = "Is the value that is stored ever computed?"
    if value == 0:
        mistake += " Or is it divided by what became Inf on the way (exp of a large number, a half above 65,504)?"
    return Pattern("constant", f"every element is {value:g}", mistake)


def _factor(e: Evidence) -> Pattern | None:
    if not _mostly(e.wrong) or e.got.dtype.kind != "f":
        return None
    used = np.isfinite(e.expected) & (np.abs(e.expected) > 0) & np.isfinite(e.got)
    if not used.any():
        return None
    ratios = e.got[used].astype(np.float64) / e.expected[used]
    factor = float(np.median(ratios))
    whole = factor if abs(factor) > 1 else 1 / factor if factor else 0.0
    # A single number is a multiple of any other: only a whole factor means anything then.
    too_few = ratios.size < 3 and (abs(whole - round(whole)) > 1e-3 or not 2 <= round(abs(whole)) <= 1024)
    if not factor or too_few or not np.allclose(ratios, factor, rtol=_LIKELY) or abs(factor - 1) < 1e-2:
        return None
    mistake = "Likely something is added once for every thread, or a scale is missing or applied twice."
    return Pattern("factor", f"the result is {factor:.4g} times what it should be", mistake)


def _offset(e: Evidence) -> Pattern | None:
    if not _mostly(e.wrong) or e.got.size < 3:
        return None
    if not _finite(e.got, e.expected):
        return None
    difference = e.got.astype(np.float64) - e.expected
    shift = float(np.median(difference))
    spread = float(np.abs(e.expected).max()) or 1.0
    if not np.allclose(difference, shift, rtol=_LIKELY, atol=1e-6 * spread) or abs(shift) < 1e-4 * spread:
        return None
    return Pattern("offset", f"every element is off by {shift:.4g}", "Likely a start value or a rounding term.")


def _shifted(e: Evidence) -> Pattern | None:
    flat, expected = e.got.reshape(-1), e.expected.reshape(-1)
    if flat.size < 4 or not _mostly(e.wrong):
        return None
    for step, there in ((1, "next"), (-1, "previous")):
        left, right = (flat[:-1], expected[1:]) if step == 1 else (flat[1:], expected[:-1])
        if _alike(left, right) and not _alike(flat, expected):
            return Pattern("shifted", f"each element holds the value of the {there} one", "Likely an index off by one.")
    return None


def _precision(e: Evidence) -> Pattern | None:
    if e.got.dtype.kind != "f" or not e.wrong.any() or not _finite(e.got[e.wrong], e.expected[e.wrong]):
        return None
    got, expected = e.got[e.wrong].astype(np.float64), e.expected[e.wrong]
    finite = e.expected[np.isfinite(e.expected)].astype(np.float64)  # of NaN and Inf there is no size
    usual = float(np.median(np.abs(finite)))
    scale = np.maximum(np.abs(expected), usual)
    if not (scale > 0).all():
        return None
    relative = float(np.quantile(np.abs(got - expected) / scale, _MOST_OF_THEM))
    if not 0 < relative <= _COARSE:
        return None
    bits = -int(np.floor(np.log2(relative)))
    held = bits < np.finfo(e.got.dtype).nmant + 1  # of a small element beside large ones there may be more
    how = f"right to {bits} bits only" if held else "small, and off in proportion to their own size"
    text = f"{_where(e.wrong)} {_were(e.wrong)} {how}"
    if bits > _NARROW and e.got.dtype.itemsize > 2:
        mistake = (
            "Likely rounding errors that pile up (a running sum, a long chain of additions), cancellation, or a "
            "function that is approximated (__expf, tanh.approx, a short polynomial, a constant of few digits)."
        )
    else:
        mistake = _FEWER_BITS if e.narrow else _ALL_WIDE
    if int(e.wrong.sum()) < _SOME and mistake != _ALL_WIDE:
        mistake = f"{mistake[:-1]}, or a term of the sum is left out or counted twice."
    return Pattern("precision", text, mistake)


def _tail(e: Evidence) -> Pattern | None:
    if not _is_tail(e.wrong):
        return None
    count = int(e.wrong.sum())
    behind = e.wrong.size - count
    groups = (e.block, *_GROUPS)
    mistake = ""
    if behind >= _SEVERAL and any(group > count and behind % group == 0 for group in groups):
        mistake = "Likely the elements after the last full group are not done, or are done by nobody's thread."
    return Pattern("tail", f"only {_where(e.wrong)} {_were(e.wrong)} wrong", mistake)


def _border(e: Evidence) -> Pattern | None:
    if e.wrong.ndim != 2 or min(e.wrong.shape) < 5:
        return None
    for width in range(1, min(e.wrong.shape) // 2):
        inner = e.wrong[width:-width, width:-width]
        edges = (e.wrong[0], e.wrong[-1], e.wrong[:, 0], e.wrong[:, -1])
        if not inner.any():
            top, bottom, left, right = (edge.mean() > 0.5 for edge in edges)
            if not (top and left and bottom == right):  # at the end alone it may be a tile that is not full
                return None
            text = f"only elements within {width} of the border are wrong"
            return Pattern("border", text, "What lies outside must be left out, and out of the count as well.")
    return None


_SIDES: tuple[tuple[int, str, PatternName, PatternName], ...] = (
    (0, "columns", "columns_above", "columns_every"), (1, "rows", "rows_above", "rows_every"),
)  # fmt: skip


def _lines(e: Evidence) -> Pattern | None:
    if e.wrong.ndim != 2:
        return None
    for axis, name, above, every in _SIDES:
        hit = np.flatnonzero(e.wrong.any(axis=axis))
        count = e.wrong.shape[1 - axis]
        if hit.size in (0, count) or np.take(e.wrong, hit, 1 - axis).mean() < 0.5:
            continue
        if hit.size == count - hit[0] and hit.size > 1:
            text = f"only {name} {hit[0]} to {count - 1} of {count} are wrong"
            return Pattern(above, text, f"Likely the tile that begins at {hit[0]} is not full.")
        steps = np.diff(hit)
        if hit.size > 2 and (steps == steps[0]).all() and steps[0] > 1:
            text = f"every {steps[0]}th of the {name} is wrong, from {hit[0]} on"
            return Pattern(every, text, f"Look for what happens once in {steps[0]}: a tile's edge, a lane.")
    return None


def _blocks(e: Evidence) -> Pattern | None:
    """Wrong elements that come back at the same places in every tile."""
    if e.wrong.ndim != 2 or _mostly(e.wrong):
        return None
    for tile in (8, 16, 32, 64):
        rows, columns = e.wrong.shape
        if rows <= tile and columns <= tile:
            break
        row_hits = {int(r) % tile for r in np.flatnonzero(e.wrong.mean(axis=1) > 0.9)}
        column_hits = {int(c) % tile for c in np.flatnonzero(e.wrong.mean(axis=0) > 0.9)}
        covered = np.zeros_like(e.wrong)
        covered[[r for r in range(rows) if r % tile in row_hits], :] = True
        covered[:, [c for c in range(columns) if c % tile in column_hits]] = True
        # At the border of the whole array nothing may be missing, so not every place that is covered must be wrong.
        inner = covered.copy()  # what is wrong at the array's border only says nothing of tiles
        inner[: tile // 2], inner[rows - tile // 2 :] = False, False
        inner[:, : tile // 2], inner[:, columns - tile // 2 :] = False, False
        if not inner.any() or e.wrong[inner].mean() <= _WHOLE_EDGE:
            continue
        if (row_hits or column_hits) and not (e.wrong & ~covered).any() and e.wrong[covered].mean() > _WHOLE_EDGE:
            text = f"the same rows and columns of every {tile}×{tile} tile are wrong"
            return Pattern("tile_edges", text, "Likely values from the neighbouring tile (the halo) are missing.")
    return None


def _permuted(e: Evidence) -> Pattern | None:
    """The wrong elements hold one another's values. Elements that are right, or nearly, say nothing of that."""
    got, expected = e.got[e.wrong].astype(np.float64), e.expected[e.wrong].astype(np.float64)
    if got.size < 4 or not _finite(got, expected) or not _alike(np.sort(got), np.sort(expected)):
        return None
    away = np.abs(got - expected) > _COARSE * np.maximum(np.abs(expected), np.abs(got))
    if away.mean() < _MOST_OF_THEM:
        return None
    return Pattern("permuted", "the values are right but in the wrong places", "Check how the output index is made.")


def _everywhere(e: Evidence) -> Pattern:
    count = int(e.wrong.sum())
    first = np.unravel_index(int(np.argmax(e.wrong)), e.wrong.shape)
    place = ", ".join(str(int(i)) for i in first)
    held = "is {}, should be {}".format(*_told_apart(e, e.got[first], e.expected[first]))
    example = f"element ({place}) {held}"
    if e.wrong.size == 1:
        return Pattern("everywhere", f"the result {held}", "")
    if not count:
        text = "every element is within what rounding may do to it, all together are too far off"
        return Pattern("drift", text, _FEWER_BITS if e.narrow else _ALL_WIDE)
    name: PatternName = "everywhere" if count > e.wrong.size // 2 else "scattered"
    return Pattern(name, f"{count} of {e.wrong.size} elements are wrong, first: {example}", "")


def _told_apart(e: Evidence, got: Any, expected: Any) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to see that they differ."""
    short = _number(e, got), _number(e, expected)
    return short if short[0] != short[1] else (f"{got:.9g}", f"{expected:.9g}")


def _number(e: Evidence, value: Any) -> str:
    """A whole number in full, where the output holds such: a count that is one short must not look the same."""
    return str(int(value)) if e.got.dtype.kind in "iu" and np.isfinite(value) else f"{value:g}"


_LOOKS: tuple[Callable[[Evidence], Pattern | None], ...] = (
    _never_written,
    _not_a_number,
    _flushed,
    _nonfinite_lost,
    _transposed,
    _constant,
    _factor,
    _offset,
    _shifted,
    _part_flushed,
    _precision,
    _tail,
    _border,
    _lines,
    _blocks,
    _permuted,
)


def _finite(*values: Array) -> bool:
    return all(bool(np.isfinite(each).all()) for each in values)


def _mostly(mask: Array) -> bool:
    return bool(mask.size) and float(mask.mean()) > 0.75


def _alike(got: Array, other: Array) -> bool:
    """Whether all but a few elements are `other`'s; equal values everywhere prove nothing."""
    finite = other[np.isfinite(other)]
    if got.size < 2 or not finite.size or np.ptp(finite) == 0:
        return False
    scale = float(np.abs(finite).max())
    close = np.isclose(got, other, rtol=_LIKELY, atol=1e-6 * scale, equal_nan=True)
    return bool(close.mean() > 0.98)


def _is_tail(mask: Array) -> bool:
    flat = np.flatnonzero(mask.reshape(-1))
    return 0 < flat.size < mask.size and int(flat[0]) == mask.size - flat.size


def _were(mask: Array) -> str:
    return "was" if int(mask.sum()) == 1 else "were"


def _where(mask: Array) -> str:
    """Elements in words: all, a tail, a range, or a count with the first one."""
    flat = np.flatnonzero(mask.reshape(-1))
    if flat.size == mask.size:
        return f"all {mask.size} elements" if mask.size > 1 else "the result"
    if flat.size == 1:
        return f"element {_index(int(flat[0]), mask.shape)}"
    if int(flat[-1]) - int(flat[0]) + 1 == flat.size:
        last = f" (the last {flat.size} of {mask.size})" if _is_tail(mask) else ""
        return f"elements {_index(int(flat[0]), mask.shape)} to {_index(int(flat[-1]), mask.shape)}{last}"
    return f"{flat.size} of {mask.size} elements, the first at {_index(int(flat[0]), mask.shape)},"


def _index(flat: int, shape: tuple[int, ...]) -> str:
    place = [int(i) for i in np.unravel_index(flat, shape)]
    return str(place[0]) if len(place) == 1 else f"({', '.join(str(i) for i in place)})"
