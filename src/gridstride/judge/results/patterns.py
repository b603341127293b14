"""How the wrong elements of a result lie, in words, and the mistake that usually makes them lie so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from gridstride.judge.problem import Array
from gridstride.judge.results.evidence import Evidence, Pattern, PatternName
from gridstride.judge.results.position_patterns import (
    border,
    never_written,
    permuted,
    shifted,
    tail,
    tile_edges,
    transposed,
    whole_lines,
)
from gridstride.judge.results.value_patterns import (
    ALL_WIDE,
    FEWER_BITS,
    constant,
    factor,
    flushed,
    nonfinite_lost,
    not_a_number,
    offset,
    part_flushed,
    precision,
)


def describe(evidence: Evidence) -> Pattern:
    """The most telling pattern; there is always one."""
    evidence = replace(evidence, got=_quiet(evidence.got), expected=_quiet(evidence.expected))
    for look in _LOOKS if evidence.got.size <= _SEARCHED else _LOOKS_FAR_AWAY:
        pattern = look(evidence)
        if pattern is not None:
            return pattern
    return _everywhere(evidence)


def _quiet(values: Array) -> Array:
    """The same without signalling NaNs, such as the poison in memory and inputs that are moved bit by bit: whatever is
    done with one is an invalid operation, a mere cast too.
    """
    return np.where(np.isnan(values), values.dtype.type(np.nan), values) if values.dtype.kind == "f" else values


def _everywhere(e: Evidence) -> Pattern:
    count = int(e.wrong.sum())
    first = np.unravel_index(int(np.argmax(e.wrong)), e.wrong.shape)
    indices = ", ".join(str(int(i)) for i in first)
    held = "is {}, should be {}".format(*_distinguishable(e, e.got[first], e.expected[first]))
    example = f"element ({indices}) {held}"
    if e.wrong.size == 1:
        return Pattern("everywhere", f"the result {held}", "")
    if not count:
        text = "every element is within what rounding may do to it, all together are too far off"
        return Pattern("drift", text, FEWER_BITS if e.narrow else ALL_WIDE)
    name: PatternName = "everywhere" if count > e.wrong.size // 2 else "scattered"
    return Pattern(name, f"{count} of {e.wrong.size} elements are wrong, first: {example}", "")


def _distinguishable(e: Evidence, got: Any, expected: Any) -> tuple[str, str]:
    """Two numbers, with as many digits as it takes to see that they differ."""
    short = _number(e, got), _number(e, expected)
    return short if short[0] != short[1] else (f"{got:.9g}", f"{expected:.9g}")


def _number(e: Evidence, value: Any) -> str:
    """A whole number in full, where the output holds such: a count that is one short must not look the same."""
    return str(int(value)) if e.got.dtype.kind in "iu" and np.isfinite(value) else f"{value:g}"


_SEARCHED = 1 << 22
"""Elements up to which every pattern is looked for: most hold the whole result against what it may be moved to."""
_LOOKS_FAR_AWAY: tuple[Callable[[Evidence], Pattern | None], ...] = (never_written, tail)
_LOOKS: tuple[Callable[[Evidence], Pattern | None], ...] = (
    never_written,
    not_a_number,
    flushed,
    nonfinite_lost,
    transposed,
    constant,
    factor,
    offset,
    shifted,
    part_flushed,
    precision,
    tail,
    border,
    whole_lines,
    tile_edges,
    permuted,
)
