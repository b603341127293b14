"""What is known of a wrong output, the pattern that is found in it, and words for places in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np

from gridstride.judge.problem import Array

PatternName = Literal[
    "never_written", "not_a_number", "flushed", "nonfinite_lost", "transposed", "constant", "factor", "offset",
    "shifted", "precision", "tail", "border", "columns_above", "rows_above", "columns_every", "rows_every",
    "tile_edges", "permuted", "everywhere", "scattered", "drift",
]  # fmt: skip
PATTERNS: tuple[PatternName, ...] = get_args(PatternName)
"""What a wrong kernel's header may name after `expect: wrong_result`."""

LIKELY = 1e-3  # relative distance within which a result counts as "the right value, but elsewhere"
COARSE = 2.0**-6  # relative error up to which a wrong result looks like arithmetic in fewer bits
MOST_OF_THEM = 0.95  # of the wrong elements, that such arithmetic must explain: where terms cancel, errors are larger


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


def all_finite(*values: Array) -> bool:
    return all(bool(np.isfinite(array).all()) for array in values)


def mostly_true(mask: Array) -> bool:
    return bool(mask.size) and float(mask.mean()) > 0.75


def nearly_equal(got: Array, other: Array) -> bool:
    """Whether all but a few elements are `other`'s; equal values everywhere prove nothing."""
    finite = other[np.isfinite(other)]
    if got.size < 2 or not finite.size or np.ptp(finite) == 0:
        return False
    scale = float(np.abs(finite).max())
    close = np.isclose(got, other, rtol=LIKELY, atol=1e-6 * scale, equal_nan=True)
    return bool(close.mean() > 0.98)


def is_tail(mask: Array) -> bool:
    flat = np.flatnonzero(mask.reshape(-1))
    return 0 < flat.size < mask.size and int(flat[0]) == mask.size - flat.size


def were(mask: Array) -> str:
    return "was" if int(mask.sum()) == 1 else "were"


def span(mask: Array) -> str:
    """Elements in words: all, a tail, a range, or a count with the first one."""
    flat = np.flatnonzero(mask.reshape(-1))
    if flat.size == mask.size:
        return f"all {mask.size} elements" if mask.size > 1 else "the result"
    if flat.size == 1:
        return f"element {_index(int(flat[0]), mask.shape)}"
    if int(flat[-1]) - int(flat[0]) + 1 == flat.size:
        last = f" (the last {flat.size} of {mask.size})" if is_tail(mask) else ""
        return f"elements {_index(int(flat[0]), mask.shape)} to {_index(int(flat[-1]), mask.shape)}{last}"
    return f"{flat.size} of {mask.size} elements, the first at {_index(int(flat[0]), mask.shape)},"


def _index(flat: int, shape: tuple[int, ...]) -> str:
    indices = [int(i) for i in np.unravel_index(flat, shape)]
    return str(indices[0]) if len(indices) == 1 else f"({', '.join(str(i) for i in indices)})"
