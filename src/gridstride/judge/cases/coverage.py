"""What every verdict must have seen: classes of cases, and how many of a verdict's cases belong to each.

Wrong kernels that pass are right on what was tried. So what is tried is not left to chance: the cases are built from
this table, one or more for each class, and a kernel that was not run on all of them has no verdict.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np

from gridstride.judge.cases.branches import Branch, Combination, branches
from gridstride.judge.cases.data import kinds
from gridstride.judge.cases.size_conditions import SizeCondition
from gridstride.judge.cases.sizes import (
    BLOCKS,
    ELONGATED,
    SMALL,
    SMALL_CASES,
    TAILS,
    VECTOR,
    area,
    areas,
    crowded,
    elongated,
    free_sizes,
    launch_tiles,
    least_near,
    many_blocks,
    quotients,
    size_classes,
    whole_tiles,
    widths,
)
from gridstride.judge.header import SymbolicLaunch
from gridstride.judge.problem import Array, Case, Order, Parameter, Problem

CHIPS = (1, 3)  # multiprocessors: a grid of few blocks, whose loops go round
ORDERS: tuple[Order, ...] = get_args(Order)
NEXT = (1, 2, 3)  # elements, or units of the problem's alignment, past an aligned address
BEYOND = (4, 5, 6, 7)  # the same past the first 16 bytes of a sector of 32
_EACH_KIND = 2  # cases with each kind of data


@dataclass(frozen=True, slots=True)
class CaseClass:
    """A class of cases: `group` says in what they are alike, `holds` which cases belong to it."""

    group: str
    name: str
    holds: Callable[[Case], bool]
    at_least: int = 1

    def __str__(self) -> str:
        return f"{self.group}: {self.name}"


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many cases of each class a verdict has seen."""

    counts: Mapping[CaseClass, int]

    @property
    def missing(self) -> tuple[CaseClass, ...]:
        """Classes of which too few were seen."""
        return tuple(case_class for case_class, count in self.counts.items() if count < case_class.at_least)

    def json(self) -> dict[str, dict[str, int]]:
        """Counts by group and name."""
        counts: dict[str, dict[str, int]] = {}
        for case_class, count in self.counts.items():
            counts.setdefault(case_class.group, {})[case_class.name] = count
        return counts


def coverage(
    problem: Problem,
    cases: Iterable[Case],
    launch: SymbolicLaunch | None = None,
    *,
    float_index: bool = False,
    tallies: bool = True,
    conditions: Iterable[SizeCondition] = (),
) -> Coverage:
    """What these cases have seen of what a verdict on the problem, or on a kernel launched so, must see."""
    all_cases = tuple(cases)
    case_classes = classes(problem, launch, float_index=float_index, tallies=tallies, conditions=conditions)
    return Coverage({case_class: sum(map(case_class.holds, all_cases)) for case_class in case_classes})


_WIDE_OF_EVERY_KIND = 1 << 18  # elements: cases of a larger size take a second or more each


def kinds_when_wide(problem: Problem, most: int) -> tuple[str, ...]:
    """The kinds of data that a size near its largest is run with."""
    return problem.wide_data or ("normal", *(problem.special if most <= _WIDE_OF_EVERY_KIND else ()))


def kinds_when_crowded(problem: Problem, *, tallies: bool) -> tuple[str, ...]:
    """Data with which a block has as much work as it gets: where threads count together, all may meet in one place."""
    return tuple(kind for kind in ("normal", "equal")[: 1 + tallies] if kind not in problem.without)


def classes(
    problem: Problem,
    launch: SymbolicLaunch | None = None,
    *,
    float_index: bool = False,
    tallies: bool = True,
    conditions: Iterable[SizeCondition] = (),
) -> Iterator[CaseClass]:
    """Every class that the problem allows, those of the launch's own tiles and of the kernel's own branches too.

    `float_index`: the kernel makes floats of whole numbers and whole numbers of floats, so that an index may have been
    one. Only then need it be run where a float is no longer exact: elsewhere its arithmetic shows that it is.
    `tallies`: its threads have where to count together, so that a block must have more than a counter holds.
    `conditions` are what its text decides by.
    """
    for name, limit in free_sizes(problem).items():
        for what, members in size_classes(limit, problem.tiles).items():
            yield CaseClass(f"size {name}", what, _sized(name, members))
    for a, b in elongated(problem):
        yield CaseClass("shape", f"{a} at least {ELONGATED} × {b}", _longer(a, b))
    for (over, by), divisors in quotients(problem).items():
        what = f"{over} over a {by} that is below 1 times its reciprocal"
        yield CaseClass("shape", what, _divides(over, by, divisors), min(2, len(divisors)))
    for name, most in problem.widest.items():
        near = _over(name, least_near(most) - 1)
        for kind in kinds_when_wide(problem, most):
            yield CaseClass("width", f"{name} near {most:,}, {kind}", _all_of(near, _drawn(kind)))
        for width in widths(most, float_index=float_index):
            yield CaseClass("width", f"{name} over {width:,}", _over(name, width))
    for a, b in areas(problem):
        least = area(float_index)
        yield CaseClass("width", f"{a} × {b} over {least:,}", _both_over(a, b, least))
    for name in problem.zeros:
        yield CaseClass("empty", f"{name} = 0", _sized(name, np.array([0])))
        if placed(problem):
            yield CaseClass("empty", f"{name} = 0, past aligned addresses", _all_of(_without(name), _moved))
    for kind in kinds(problem):
        yield CaseClass("data", kind, _drawn(kind), _EACH_KIND)
        if placed(problem):
            yield CaseClass("data", f"{kind}, past aligned addresses", _all_of(_drawn(kind), _moved))
        for what, rule in (("in twos", _in_twos(problem)), ("powers of two", _powers_of_two(problem))):
            yield CaseClass("data", f"{kind}, sizes {what}", _all_of(_all_of(_drawn(kind), rule), _still))
        if kind in problem.special and len(free_sizes(problem)) > 1:
            small = _all_of(_drawn(kind), _small_everywhere(problem))
            yield CaseClass("data", f"{kind}, sizes up to {SMALL}", small, SMALL_CASES)
    yield from _thin(problem)
    yield from _placements(problem)
    for order in ORDERS:
        yield CaseClass("order", order, _ordered(order), 3)
    yield CaseClass("memory", "other data in the same memory, then in other memory", lambda case: case.again, 3)
    if len(placed(problem)) > 1:
        yield CaseClass("memory", "the last array first", lambda case: case.mirrored, 3)
    for multiprocessors in CHIPS:
        yield CaseClass("grid", f"{multiprocessors} SMs", _on_chip(multiprocessors))
    if launch:
        yield from _of_a_launch(problem, launch, tallies=tallies)
    for branch in branches(problem, conditions, launch):
        yield from _of_a_branch(problem, branch)


def _thin(problem: Problem) -> Iterator[CaseClass]:
    """A size of 1 with every kind of data, and less than a vector of everything."""
    free = free_sizes(problem)
    for name, kind in itertools.product(free, kinds(problem)):
        thin = _all_of(_narrow(name), _drawn(kind))
        yield CaseClass("thin", f"{name} = 1, {kind}", _all_of(thin, _still))
        if placed(problem):
            yield CaseClass("thin", f"{name} = 1, {kind}, past aligned addresses", _all_of(thin, _moved))
    if placed(problem):
        yield CaseClass(
            "thin",
            "less than a vector, every array past an aligned address",
            _all_of(_below_vector(problem), _alike(problem, 1)),
        )
    for p in placed(problem):
        yield CaseClass(
            "thin",
            f"less than a vector, {p.name} past an aligned address",
            _all_of(_below_vector(problem), _displaced(p)),
        )


def _placements(problem: Problem) -> Iterator[CaseClass]:
    """Where arrays begin: each alone past an aligned address, and all of them in every way that matters."""
    for p in placed(problem):
        for units in NEXT:
            yield CaseClass("placement", f"{p.name} alone {_bytes(problem, p, units)} past", _alone(problem, p, units))
        beyond = [_alone(problem, p, units) for units in BEYOND]
        first, last = (_bytes(problem, p, units) for units in (BEYOND[0], BEYOND[-1]))
        least = len(BEYOND) if is_flat(problem) else 1
        yield CaseClass("placement", f"{p.name} alone {first} to {last} past", _any_of(beyond), least)
    if len(placed(problem)) > 1:
        yield CaseClass("placement", "every array elsewhere", _apart(problem))
        for units in (*NEXT, *(BEYOND if is_flat(problem) else ())):
            yield CaseClass("placement", f"every array {units} units past", _alike(problem, units))
        for units, tail in itertools.product(NEXT, range(1, VECTOR)) if is_flat(problem) else ():
            what = f"every array {units} units past, a tail of {tail}"
            yield CaseClass("placement", what, _all_of(_alike(problem, units), _tailed(problem, tail)))
        for p in placed(problem) if len(placed(problem)) > 2 else ():
            at_least = len(NEXT) if is_flat(problem) else 1
            yield CaseClass("placement", f"every array but {p.name} past", _all_but(problem, p), at_least)


def _of_a_launch(problem: Problem, launch: SymbolicLaunch, *, tallies: bool) -> Iterator[CaseClass]:
    """Those of the launch's own tiles, and of its blocks where they have much of the work."""
    for name, tile in launch_tiles(problem, launch).items():
        for tail in (0, *TAILS):
            yield CaseClass("launch", f"{name}: {_tail(tail)} {tile}", _past(name, tile, tail))
    for name, tile in many_blocks(problem, launch).items():
        yield CaseClass("launch", f"{name}: over {BLOCKS:,} blocks", _over(name, BLOCKS * tile))
    for name, most in crowded(problem, launch, tallies=tallies).items():
        near = _all_of(_over(name, least_near(most) - 1), _on_chip(1))
        for kind in kinds_when_crowded(problem, tallies=tallies):
            yield CaseClass("launch", f"{name} near {most:,} on one SM, {kind}", _all_of(near, _drawn(kind)))
    if steps := whole_tiles(problem, launch):
        yield CaseClass("launch", "whole tiles in every size", _full_tiles(steps))
        for name in problem.zeros:
            other_steps = {other_name: step for other_name, step in steps.items() if other_name != name}
            yield CaseClass("launch", f"whole tiles, {name} = 0", _all_of(_without(name), _full_tiles(other_steps)))


def _of_a_branch(problem: Problem, branch: Branch | Combination) -> Iterator[CaseClass]:
    """What the problem's other sizes see anyway: every kind of data, tail and place of an array."""
    for kind in kinds(problem):
        yield CaseClass("branch", f"{branch}, {kind}", _all_of(branch.holds, _drawn(kind)))
    for residue in branch.residues:
        yield CaseClass("branch", f"{branch}, {residue} mod {VECTOR}", _all_of(branch.holds, _residue(branch, residue)))
    for p in placed(problem):
        yield CaseClass("branch", f"{branch}, {p.name} alone past", _all_of(branch.holds, _alone(problem, p, 1)))
    if len(placed(problem)) > 1:
        yield CaseClass("branch", f"{branch}, every array past", _all_of(branch.holds, _alike(problem, 1)))


# -- which cases belong to a class -------------------------------------------------------------------------------------
_Rule = Callable[[Case], bool]


def _in_twos(problem: Problem) -> _Rule:
    wide = [name for name, limit in free_sizes(problem).items() if limit >= 2]
    return lambda case: all(case.sizes[name] % VECTOR == 2 for name in wide)


def _small_everywhere(problem: Problem) -> _Rule:
    return lambda case: all(case.sizes[name] <= SMALL for name in free_sizes(problem))


def _powers_of_two(problem: Problem) -> _Rule:
    return lambda case: all(case.sizes[name].bit_count() == 1 for name in free_sizes(problem))


def _sized(name: str, members: Array) -> _Rule:
    values = frozenset(int(member) for member in members)
    return lambda case: case.sizes[name] in values and not case.offsets


def _residue(branch: Branch | Combination, residue: int) -> _Rule:
    return lambda case: case.sizes[branch.name] % VECTOR == residue and not case.offsets


def _longer(a: str, b: str) -> _Rule:
    return lambda case: case.sizes[b] > 1 and case.sizes[a] >= ELONGATED * case.sizes[b]


def _divides(over: str, by: str, divisors: Iterable[int]) -> _Rule:
    divisor_set = frozenset(divisors)
    return lambda case: case.sizes[by] in divisor_set and case.sizes[over] > case.sizes[by]


def _over(name: str, width: int) -> _Rule:
    return lambda case: case.sizes[name] > width


def _both_over(a: str, b: str, least: int) -> _Rule:
    return lambda case: case.sizes[a] * case.sizes[b] > least and min(case.sizes[a], case.sizes[b]) > least**0.5 / 4


def _all_of(first: _Rule, second: _Rule) -> _Rule:
    return lambda case: first(case) and second(case)


def _drawn(kind: str) -> _Rule:
    return lambda case: case.data == kind


def _ordered(order: Order) -> _Rule:
    return lambda case: case.order == order


def _on_chip(multiprocessors: int) -> _Rule:
    return lambda case: case.multiprocessors == multiprocessors


def _past(name: str, tile: int, tail: int) -> _Rule:
    return lambda case: case.sizes[name] >= tile - 1 and case.sizes[name] % tile == tail % tile


def _full_tiles(steps: Mapping[str, int]) -> _Rule:
    return lambda case: all(case.sizes[name] > 0 and case.sizes[name] % step == 0 for name, step in steps.items())


def _tail(tail: int) -> str:
    return {0: "a multiple of", -1: "one short of a multiple of"}.get(tail, f"{tail} past a multiple of")


# -- placement ---------------------------------------------------------------------------------------------------------
def placed(problem: Problem) -> tuple[Parameter, ...]:
    """The arrays, which may each begin elsewhere."""
    return tuple(p for p in problem.parameters if p.role != "scalar" and unit(problem, p) * _size(p) < 256)


def is_flat(problem: Problem) -> bool:
    """Whether one size says how much there is of everything, so that a path by address has tails of its own: with rows,
    the length of a row decides both.
    """
    return len(free_sizes(problem)) == 1


def unit(problem: Problem, parameter: Parameter) -> int:
    """Elements by which the array may be moved away from an aligned address."""
    return max(1, problem.alignment // _size(parameter))


def _size(parameter: Parameter) -> int:
    return np.dtype(parameter.dtype).itemsize


def _bytes(problem: Problem, parameter: Parameter, units: int) -> str:
    return f"{units * unit(problem, parameter) * _size(parameter)} bytes"


def _alone(problem: Problem, parameter: Parameter, units: int) -> _Rule:
    return lambda case: dict(case.offsets) == {parameter.name: units * unit(problem, parameter)}


def _any_of(rules: Iterable[_Rule]) -> _Rule:
    rule_list = tuple(rules)
    return lambda case: any(rule(case) for rule in rule_list)


def _without(name: str) -> _Rule:
    return lambda case: case.sizes[name] == 0


def _moved(case: Case) -> bool:
    return bool(case.offsets)


def _still(case: Case) -> bool:
    return not case.offsets


def _narrow(name: str) -> _Rule:
    return lambda case: case.sizes[name] == 1


def _below_vector(problem: Problem) -> _Rule:
    sizes = free_sizes(problem)
    return lambda case: max(case.sizes[name] for name in sizes) < VECTOR


def _displaced(parameter: Parameter) -> _Rule:
    return lambda case: parameter.name in case.offsets


def _tailed(problem: Problem, tail: int) -> _Rule:
    return lambda case: all(case.sizes[name] % VECTOR == tail for name in free_sizes(problem))


def _alike(problem: Problem, units: int) -> _Rule:
    every = {p.name: units * unit(problem, p) for p in placed(problem)}
    return lambda case: dict(case.offsets) == every


def _all_but(problem: Problem, parameter: Parameter) -> _Rule:
    other_names = {p.name for p in placed(problem)} - {parameter.name}
    return lambda case: set(case.offsets) == other_names


def _apart(problem: Problem) -> _Rule:
    every = {p.name for p in placed(problem)}
    return lambda case: set(case.offsets) == every and len(set(case.offsets.values())) > 1
