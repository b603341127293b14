"""What a case of gigabytes must give, worked out and checked piece by piece.

In float64 such a case would be several times its size, with the reference's intermediate results besides: all of it
memory that is touched once, which costs more than the arithmetic. Pieces fit the caches, and every processor takes one.
What is kept is the exact values and, in float32, how far from them a result may be.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from math import prod, sqrt
from typing import Any, TypeVar

import numpy as np

from gridstride.judge.cases.data import widened
from gridstride.judge.problem import Array, Case, Parameter, Problem, Reference, Values
from gridstride.judge.reference.tolerance import Expected, deviation, expect

_PIECE = 1 << 20  # elements of the largest array that is cut: as float64 they fit the cache of one core
_SHARED = 4  # a piece is at least this share of what every piece needs whole, such as B of a matrix product

_T = TypeVar("_T")
_R = TypeVar("_R")


@dataclass(frozen=True, slots=True)
class OutputPiece:
    """A part of one output, and what must stand there."""

    index: tuple[slice, ...]
    expected: Expected


@dataclass(frozen=True, slots=True)
class Answer:
    """What one output must be."""

    pieces: tuple[OutputPiece, ...]

    def holds(self, got: Array) -> bool:
        """Whether `got` is right, by the same rule as `tolerance.compare`."""
        deviations = _parallel(lambda piece: deviation(got[piece.index], piece.expected), self.pieces)
        bounds = [piece.expected.norm_bound for piece in self.pieces]
        if any(wrong.any() for wrong, _ in deviations):
            return False
        squares = sum(square for _, square in deviations)
        return None in bounds or squares <= sum(bound**2 for bound in bounds if bound is not None)


@dataclass(frozen=True, slots=True)
class _Cut:
    """Elements `first` to `last` along the problem's `pieces`, and how many more are looked at on each side."""

    first: int
    last: int
    before: int = 0
    after: int = 0


def answers(problem: Problem, case: Case, inputs: Values) -> dict[str, Answer]:
    """What each output of the case must be, by name."""
    with warnings.catch_warnings():  # before there are threads, which share it
        warnings.simplefilter("ignore", RuntimeWarning)
        return _answers(problem, case, inputs)


def _answers(problem: Problem, case: Case, inputs: Values) -> dict[str, Answer]:
    if not problem.pieces:
        return {
            name: Answer(tuple(_sliced(expected))) for name, expected in _in_one_piece(problem, case, inputs).items()
        }
    shared = {p.name: widened(inputs[p.name]) for p in problem.parameters if p.given and problem.pieces not in p.shape}
    cuts = list(_cuts(problem, case))
    if all(problem.pieces not in p.shape for p in problem.outputs):
        return _joined([_folded(problem, case, inputs, shared, cuts)])

    def compute_piece(cut: _Cut) -> dict[str, OutputPiece]:
        values = _cut_values(problem, inputs, shared, cut)
        return {
            p.name: OutputPiece(
                _output_slices(problem, p, cut), _compact_expected(problem, case, p, results, magnitudes)
            )
            for results, magnitudes in [_results(problem, values, cut)]
            for p in problem.outputs
        }

    return _joined(_parallel(compute_piece, cuts))


def _in_one_piece(problem: Problem, case: Case, inputs: Values) -> dict[str, Expected]:
    values = {name: widened(value) for name, value in inputs.items()}
    results, magnitudes = _results(problem, values, None)
    return {p.name: _compact_expected(problem, case, p, results, magnitudes) for p in problem.outputs}


def _sliced(expected: Expected) -> Iterator[OutputPiece]:
    """What had to be worked out at once, so that it can be looked at in pieces along its first axis."""
    count = len(expected.values)
    step = max(1, _PIECE * count // max(expected.values.size, 1))
    for first in range(0, count, step):
        part = slice(first, min(first + step, count))
        bound = None if expected.bound is None else expected.bound[part]
        # Only the sum over all pieces is held against these, and that is the whole's.
        norm = None if expected.norm_bound is None else expected.norm_bound * sqrt((part.stop - first) / count)
        yield OutputPiece((part,), replace(expected, values=expected.values[part], bound=bound, norm_bound=norm))


def _folded(
    problem: Problem, case: Case, inputs: Values, shared: Mapping[str, Any], cuts: Iterable[_Cut]
) -> dict[str, OutputPiece]:
    """Outputs that every piece adds to: each begins with what the one before left."""
    results: dict[str, Array] = {p.name: shared[p.name] for p in problem.outputs}
    magnitudes = dict(results)
    for cut in cuts:
        values = _cut_values(problem, inputs, shared, cut)
        results = _called(problem.reference, {**values, **results})
        if problem.magnitude:
            magnitudes = _called(problem.magnitude, {**values, **magnitudes})
    totals = magnitudes if problem.magnitude else {}
    return {p.name: OutputPiece((), _compact_expected(problem, case, p, results, totals)) for p in problem.outputs}


def _results(problem: Problem, values: Values, cut: _Cut | None) -> tuple[dict[str, Array], dict[str, Array]]:
    """The reference's results and magnitudes, without what a cut had to look at besides."""
    functions = [problem.reference, *([problem.magnitude] if problem.magnitude else [])]
    results, *magnitudes = (_called(function, values) for function in functions)
    if cut is None:
        return results, (magnitudes or [{}])[0]
    inside = slice(cut.before, cut.before + cut.last - cut.first)
    trimmed = [
        {p.name: arrays[p.name][_along(problem, p, inside)] for p in problem.outputs}
        for arrays in (results, *magnitudes)
    ]
    return trimmed[0], trimmed[1] if magnitudes else {}


def _called(function: Reference, values: Values) -> dict[str, Array]:
    with np.errstate(all="ignore"):
        return {name: np.asarray(value) for name, value in function(values).items()}


def _compact_expected(
    problem: Problem, case: Case, parameter: Parameter, results: Values, magnitudes: Mapping[str, Array]
) -> Expected:
    """What is remembered of an output: nothing that is needed only to describe a mistake."""
    expected = expect(problem, case, parameter, results[parameter.name], magnitudes.get(parameter.name))
    bound = None if expected.bound is None else np.ascontiguousarray(expected.bound, np.float32)
    return replace(expected, values=np.ascontiguousarray(expected.values), bound=bound, scale=np.empty(0))


def _cuts(problem: Problem, case: Case) -> Iterator[_Cut]:
    size = case.sizes[problem.pieces]
    counts = {p: prod(problem.shape(p, case.sizes)) for p in problem.parameters if p.shape}
    elements_per_row = max(count for p, count in counts.items() if problem.pieces in p.shape) // max(size, 1)
    shared = max((count for p, count in counts.items() if problem.pieces not in p.shape), default=0)
    step = max(1, max(_PIECE, shared // _SHARED) // max(elements_per_row, 1))
    for first in range(0, size, step):
        last = min(first + step, size)
        yield _Cut(first, last, min(problem.halo, first), min(problem.halo, size - last))


def _cut_values(problem: Problem, inputs: Values, shared: Mapping[str, Any], cut: _Cut) -> dict[str, Any]:
    """The arguments of the reference for one piece."""
    values = dict(shared)
    visible = slice(cut.first - cut.before, cut.last + cut.after)
    for p in problem.parameters:
        if p.given and problem.pieces in p.shape:
            values[p.name] = widened(inputs[p.name][_along(problem, p, visible)])
        elif p.name == problem.pieces:
            values[p.name] = visible.stop - visible.start
    return values


def _output_slices(problem: Problem, parameter: Parameter, cut: _Cut) -> tuple[slice, ...]:
    return _along(problem, parameter, slice(cut.first, cut.last))


def _along(problem: Problem, parameter: Parameter, part: slice) -> tuple[slice, ...]:
    return tuple(part if extent == problem.pieces else slice(None) for extent in parameter.shape)


def _joined(pieces: Iterable[Mapping[str, OutputPiece]]) -> dict[str, Answer]:
    by_name: dict[str, list[OutputPiece]] = {}
    for part in pieces:
        for name, piece in part.items():
            by_name.setdefault(name, []).append(piece)
    return {name: Answer(tuple(parts)) for name, parts in by_name.items()}


def _parallel(function: Callable[[_T], _R], over: Iterable[_T]) -> list[_R]:
    # NumPy lets go of the interpreter while it works.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, over))
