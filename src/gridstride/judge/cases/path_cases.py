"""More cases for the ways through a kernel that too few of the cases so far have taken.

A kernel's text does not always say at which inputs it takes a way of its own: it looks that up in a table, asks where
its arrays lie, or what another thread found. What it did says so. A way is taken by the cases that agree in a basic
block or in a branch that lanes went past. With each kind of data, each array past an aligned address, arrays the other
way round and several launches on end, it is taken at least once, or was tried.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from gridstride.judge.cases.coverage import placed, unit
from gridstride.judge.cases.data import kinds
from gridstride.judge.problem import Array, Case, Problem

_SHARE = 4  # one part in so many of the work, and of the cases, that were before may come on top
_LEAST_CASES, _LEAST_WORK = 24, 1 << 24  # but so many, and so many operations or bytes, in any case


MOST_WATCHED = 16 << 20
"""Bytes of the largest variable whose use is looked at."""


@dataclass(frozen=True, slots=True)
class VariableUse:
    """A `__device__` variable of so many bytes, and behind which of them a run wrote none."""

    name: str
    size: int
    written: int


@dataclass(frozen=True, slots=True)
class KernelPath:
    """Which way a run went through the kernel's code: `outcomes` are bits, of its basic blocks and of its branches;
    `unreached` are lines that no lane came to. Of a large grid some blocks stand for all, unless `exact`. `variables`:
    those that it wrote to. Empty on hardware.
    """

    outcomes: bytes = b""
    unreached: frozenset[int] = frozenset()
    variables: tuple[VariableUse, ...] = ()
    exact: bool = True


UNKNOWN_PATH = KernelPath()


@dataclass(frozen=True, slots=True)
class _Variation:
    """What a way through the kernel must be tried with: which cases are so, and what makes another case so."""

    holds: Callable[[Case], bool]
    apply: Callable[[Case], Case]


def path_cases(problem: Problem, cases: Sequence[Case], paths: Sequence[KernelPath], *, seed: int) -> tuple[Case, ...]:
    """Variations of `cases`, whose first runs took `paths`: the least of each that took a way, rare ways first."""
    draw = random.Random(f"{problem.name} {seed} paths")
    with_outcomes = [number for number, path in enumerate(paths) if path.outcomes]
    work = {number: max(problem.work(cases[number].sizes)) for number in with_outcomes}
    remaining_work = _LEAST_WORK + sum(work.values()) // _SHARE
    most = max(_LEAST_CASES, len(cases) // _SHARE)
    new_cases: dict[tuple[int, int], Case] = {}
    variations = [*_variations(problem)]
    for way in _ways([paths[number].outcomes for number in with_outcomes]):
        members = sorted((with_outcomes[index] for index in way), key=work.__getitem__)
        covered = frozenset(members)
        for which, variation in enumerate(variations):
            base = members[0]
            if len(new_cases) >= most or any((member, which) in new_cases for member in members):
                continue
            if work[base] <= remaining_work and not _was_tried(cases, with_outcomes, covered, variation):
                remaining_work -= work[base]
                varied = variation.apply(replace(cases[base], again=False, fresh=False))
                new_cases[base, which] = replace(varied, seed=draw.randrange(2**31), hidden=True)
    return tuple(new_cases.values())


def _ways(outcomes: Sequence[bytes]) -> Iterator[Array]:
    """The runs, by number, that agree in an outcome which others do not have; each set of them once, small ones first.

    Runs of another build of the kernel, for another shape of block, count other bits: they agree among themselves.
    """
    rows: dict[bytes, Array] = {}
    for length in sorted({len(outcome) for outcome in outcomes}):
        runs = np.array([number for number, outcome in enumerate(outcomes) if len(outcome) == length])
        bits = np.unpackbits(np.array([[*outcomes[number]] for number in runs], np.uint8), axis=1)
        for column in np.unique(bits, axis=1).T:
            members = runs[column == 1]
            if 0 < len(members) < len(outcomes):
                rows.setdefault(members.tobytes(), members)
    yield from sorted(rows.values(), key=len)


def _was_tried(
    cases: Sequence[Case], with_outcomes: Sequence[int], covered: frozenset[int], variation: _Variation
) -> bool:
    """Whether a case of the way is so, or one of the same sizes is and went elsewhere: it is that which decides."""
    sizes = {_launched(cases[number]) for number in covered}
    return any(variation.holds(cases[number]) for number in with_outcomes
               if number in covered or _launched(cases[number]) in sizes)  # fmt: skip


def _launched(case: Case) -> tuple[object, ...]:
    return *case.sizes.values(), case.multiprocessors


def _variations(problem: Problem) -> Iterator[_Variation]:
    for kind in kinds(problem):
        yield _of_kind(kind)
    arrays = placed(problem)
    for p in arrays:
        yield _moved({p.name: unit(problem, p)})
    if len(arrays) > 1:
        yield _moved({p.name: unit(problem, p) for p in arrays})
        yield from (_turned(mirrored) for mirrored in (False, True))
    if arrays:
        yield _moved({})
    yield _Variation(lambda case: not case.once, lambda case: replace(case, once=False))
    yield _Variation(lambda case: case.again, lambda case: replace(case, once=False, again=True))


def _of_kind(kind: str) -> _Variation:
    return _Variation(lambda case: case.data == kind, lambda case: replace(case, data=kind))


def _turned(mirrored: bool) -> _Variation:
    return _Variation(lambda case: case.mirrored == mirrored, lambda case: replace(case, mirrored=mirrored))


def _moved(offsets: Mapping[str, int]) -> _Variation:
    return _Variation(lambda case: dict(case.offsets) == offsets, lambda case: replace(case, offsets=offsets))


def never_run(paths: Sequence[KernelPath]) -> tuple[int, ...]:
    """Lines of the kernel that none of these runs came to."""
    unreached = [path.unreached for path in paths if path.outcomes]
    return tuple(sorted(frozenset.intersection(*unreached))) if unreached else ()
