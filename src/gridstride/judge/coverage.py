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

from gridstride.judge.data import kinds
from gridstride.judge.header import MULTIPROCESSORS, Launch
from gridstride.judge.problem import Array, Case, Order, Parameter, Problem
from gridstride.judge.size_conditions import SizeCondition, changes
from gridstride.judge.symbols import ExpressionError, names

WARP = 32
VECTOR = 4  # elements that kernels read at once, where sizes and addresses allow
LONGEST_PERIOD = 128  # elements: the widest tile in common use; residues are told apart up to here
TAILS = (1, 2, 3, -1)  # elements past (or short of) whole tiles
WIDTHS = (1 << 12, 1 << 15, 1 << 16, 1 << 20)  # a block's shared memory, short, unsigned short, 1,024 blocks of 1,024
AREA = 1 << 20  # elements of two extents together, where neither alone is too large for anything
BLOCKS = 1 << 16  # what an unsigned short does not count, and more than a grid's y and z may hold
FLOAT_WIDTH = 1 << 24  # above it a float does not hold every whole number
CHIPS = (1, 3)  # multiprocessors: a grid of few blocks, whose loops go round
ORDERS: tuple[Order, ...] = get_args(Order)
_MANY = 1 << 20  # multiprocessors, so that a grid is not bounded by them
_ELONGATED = 4  # one extent over another
_UNALIGNED = (1, 2, 3)  # elements, or units of the problem's alignment, past an aligned address
_EACH_KIND = 2  # cases with each kind of data
_LEAST_BRANCH = 24  # a smaller size that a kernel decides by is a loop that the compiler unrolled, or covered anyway
_BESIDE = 2  # the other sizes, where one goes far


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
        return tuple(each for each, seen in self.counts.items() if seen < each.at_least)

    def json(self) -> dict[str, dict[str, int]]:
        """Counts by group and name."""
        found: dict[str, dict[str, int]] = {}
        for each, seen in self.counts.items():
            found.setdefault(each.group, {})[each.name] = seen
        return found


def coverage(
    problem: Problem,
    cases: Iterable[Case],
    launch: Launch | None = None,
    *,
    float_index: bool = False,
    conditions: Iterable[SizeCondition] = (),
) -> Coverage:
    """What these cases have seen of what a verdict on the problem, or on a kernel launched so, must see."""
    given = tuple(cases)
    wanted = classes(problem, launch, float_index=float_index, conditions=conditions)
    return Coverage({each: sum(map(each.holds, given)) for each in wanted})


_WIDE_OF_EVERY_KIND = 1 << 17  # elements: cases of a larger size take a second or more each


def kinds_when_wide(problem: Problem, most: int) -> tuple[str, ...]:
    """The kinds of data that a size near its largest is run with."""
    return problem.wide_data or ("normal", *(problem.special if most <= _WIDE_OF_EVERY_KIND else ()))


def classes(
    problem: Problem,
    launch: Launch | None = None,
    *,
    float_index: bool = False,
    conditions: Iterable[SizeCondition] = (),
) -> Iterator[CaseClass]:
    """Every class that the problem allows, those of the launch's own tiles and of the kernel's own branches too.

    `float_index`: the kernel makes floats of whole numbers and whole numbers of floats, so that an index may have been
    one. Only then need it be run where a float is no longer exact: elsewhere its arithmetic shows that it is.
    `conditions` are what its text decides by.
    """
    for name, limit in free_sizes(problem).items():
        for what, members in size_classes(limit, problem.tiles).items():
            yield CaseClass(f"size {name}", what, _sized(name, members))
    for a, b in elongated(problem):
        yield CaseClass("shape", f"{a} at least {_ELONGATED} × {b}", _longer(a, b))
    for name, most in problem.widest.items():
        near = _over(name, most - most // 16 - 1)
        for kind in kinds_when_wide(problem, most):
            yield CaseClass("width", f"{name} near {most:,}, {kind}", _both(near, _drawn(kind)))
        for width in widths(most, float_index=float_index):
            yield CaseClass("width", f"{name} over {width:,}", _over(name, width))
    for a, b in areas(problem):
        least = area(float_index)
        yield CaseClass("width", f"{a} × {b} over {least:,}", _both_over(a, b, least))
    for name in problem.zeros:
        yield CaseClass("empty", f"{name} = 0", _sized(name, np.array([0])))
        if placed(problem):
            yield CaseClass("empty", f"{name} = 0, past aligned addresses", _both(_without(name), _moved))
    for kind in kinds(problem):
        yield CaseClass("data", kind, _drawn(kind), _EACH_KIND)
        if placed(problem):
            yield CaseClass("data", f"{kind}, past aligned addresses", _both(_drawn(kind), _moved))
    yield from _thin(problem)
    for p in placed(problem):
        for units in _UNALIGNED:
            yield CaseClass("placement", f"{p.name} alone {_bytes(problem, p, units)} past", _alone(problem, p, units))
    if len(placed(problem)) > 1:
        yield CaseClass("placement", "every array elsewhere", _apart(problem))
        for units in _UNALIGNED:
            yield CaseClass("placement", f"every array {units} units past", _alike(problem, units))
    for order in ORDERS:
        yield CaseClass("order", order, _ordered(order), 3)
    yield CaseClass("memory", "other data in the same memory, then in other memory", lambda case: case.again, 3)
    for many in CHIPS:
        yield CaseClass("grid", f"{many} SMs", _on_chip(many))
    if launch:
        yield from _of_a_launch(problem, launch)
    for branch in branches(problem, conditions):
        yield from _of_a_branch(problem, branch)


def _thin(problem: Problem) -> Iterator[CaseClass]:
    """A size of 1 with every kind of data, and less than a vector of everything."""
    free = free_sizes(problem)
    for name, kind in itertools.product(free, kinds(problem) if len(free) > 1 else ("normal",)):
        thin = _both(_narrow(name), _drawn(kind))
        yield CaseClass("thin", f"{name} = 1, {kind}", _both(thin, _still))
        if placed(problem):
            yield CaseClass("thin", f"{name} = 1, {kind}, past aligned addresses", _both(thin, _moved))
    if placed(problem):
        yield CaseClass(
            "thin", "less than a vector, every array past an aligned address", _both(_few(problem), _alike(problem, 1))
        )
    for p in placed(problem):
        yield CaseClass(
            "thin", f"less than a vector, {p.name} past an aligned address", _both(_few(problem), _displaced(p))
        )


def _of_a_launch(problem: Problem, launch: Launch) -> Iterator[CaseClass]:
    """Those of the launch's own tiles."""
    for name, tile in launch_tiles(problem, launch).items():
        for tail in (0, *TAILS):
            yield CaseClass("launch", f"{name}: {_tail(tail)} {tile}", _past(name, tile, tail))
    for name, tile in many_blocks(problem, launch).items():
        yield CaseClass("launch", f"{name}: over {BLOCKS:,} blocks", _over(name, BLOCKS * tile))
    if steps := whole_tiles(problem, launch):
        yield CaseClass("launch", "whole tiles in every size", _whole(steps))
        for name in problem.zeros:
            rest = {other: step for other, step in steps.items() if other != name}
            yield CaseClass("launch", f"whole tiles, {name} = 0", _both(_without(name), _whole(rest)))


def _of_a_branch(problem: Problem, branch: Branch) -> Iterator[CaseClass]:
    """What the problem's other sizes see anyway: every kind of data, tail and place of an array."""
    for kind in kinds(problem):
        yield CaseClass("branch", f"{branch}, {kind}", _both(branch.holds, _drawn(kind)))
    for residue in range(VECTOR):
        yield CaseClass("branch", f"{branch}, {residue} mod {VECTOR}", _both(branch.holds, _residue(branch, residue)))
    for p in placed(problem):
        yield CaseClass("branch", f"{branch}, {p.name} alone past", _both(branch.holds, _alone(problem, p, 1)))


# -- branches ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Branch:
    """Sizes `first` to `last` of `name`, at one side of where a kernel's text decides; `beside`: the other sizes that
    it decides by, if any, are as they were when the place was found.
    """

    name: str
    first: int
    last: int
    beside: Mapping[str, int]

    def __str__(self) -> str:
        return f"{self.name} = {self.first:,} to {self.last:,}"

    def holds(self, case: Case) -> bool:
        """Whether the case is of these sizes."""
        return self.first <= case.sizes[self.name] <= self.last


def branches(problem: Problem, conditions: Iterable[SizeCondition]) -> list[Branch]:
    """Both sides of each place where a kernel decides by a size; what lies above the usual sizes only past it."""
    found: dict[tuple[str, int], Branch] = {}
    names = [p.name for p in problem.parameters]
    sizes = free_sizes(problem)
    for condition in conditions:
        about = {place: names[place] for place in condition.parameters if place < len(names)}
        if len(about) < len(condition.parameters) or not set(about.values()) <= set(sizes):
            continue
        for name in about.values():
            for branch in _sides(problem, condition, about, name):
                found.setdefault((name, branch.first), branch)
    return list(found.values())


def _sides(problem: Problem, condition: SizeCondition, about: Mapping[int, str], name: str) -> Iterator[Branch]:
    usual = free_sizes(problem)
    most = problem.widest.get(name, usual[name])
    beside = {other: min(_BESIDE, usual[other]) for other in about.values() if other != name}

    def holds(size: int) -> bool:
        return condition.holds({place: size if each == name else beside[each] for place, each in about.items()})

    for last in changes(holds, most):
        reach = max(4 * VECTOR, last // 16)
        if last >= _LEAST_BRANCH and last + VECTOR <= most:
            yield Branch(name, last + 1, min(last + reach, most), beside)
            if last <= usual[name]:
                yield Branch(name, last - reach + 1, last, beside)


# -- sizes -------------------------------------------------------------------------------------------------------------
def free_sizes(problem: Problem) -> dict[str, int]:
    """Sizes that are drawn by themselves, with the largest of each; strides follow the width of their rows."""
    return {name: limit for name, limit in problem.largest.items() if name not in problem.strides}


def size_classes(limit: int, tiles: Iterable[int]) -> dict[str, Array]:
    """Kinds of sizes that kernels get wrong, with the sizes up to `limit` of each; kinds without any are left out.

    Those of residues hold a whole warp besides where `limit` allows: a tail shows behind something whole.
    """
    n = np.arange(1, limit + 1)
    found = {"1": n == 1, "2 to 7": (n >= 2) & (n < 8), f"8 to {WARP - 1}": (n >= 8) & (n < WARP)}
    bulk = n > min(WARP, limit // 4)
    for residue in range(8):
        found[f"{residue} mod 8"] = (n % 8 == residue) & bulk
    for period in (16, 32, 64, LONGEST_PERIOD):
        found[f"{period // 2} mod {period}"] = (n % period == period // 2) & bulk
    period = next((p for p in (LONGEST_PERIOD, 64, WARP) if 2 * p <= limit), 0)
    if period:
        found[f"0 mod {period}"] = n % period == 0
        for tail in TAILS:
            found[f"{tail} mod {period}"] = (n % period == tail % period) & (n > period // 2)
    for shift, what in ((-1, "one below a tile"), (0, "a tile"), (1, "one above a tile")):
        found[what] = np.isin(n, [tile + shift for tile in tiles])
    found["the largest quarter"] = n > 3 * limit // 4
    return {name: n[which] for name, which in found.items() if which.any()}


def small_classes(limit: int) -> dict[str, Array]:
    """Those of `size_classes` that hold less than a warp: nothing else should be small beside them."""
    known = size_classes(limit, ())
    return {name: known[name] for name in ("1", "2 to 7", f"8 to {WARP - 1}") if name in known}


def elongated(problem: Problem) -> list[tuple[str, str]]:
    """Pairs of extents of one array, in both orders, that may differ by enough to be told apart."""
    limits = free_sizes(problem)
    shapes = [[e for e in p.shape if e in limits] for p in problem.parameters]
    pairs = {pair: None for shape in shapes for pair in itertools.permutations(dict.fromkeys(shape), 2)}
    return [(a, b) for a, b in pairs if limits[a] > _ELONGATED * 2]


def widths(most: int, *, float_index: bool = False) -> list[int]:
    """The thresholds that a size of up to `most` passes; one that goes far goes further where an index is a float."""
    far = float_index and most > WIDTHS[-1]
    return [*(width for width in WIDTHS if width < most), *([FLOAT_WIDTH] if far else [])]


def areas(problem: Problem) -> list[tuple[str, str]]:
    """Pairs of extents of one output that may both be large: their product is an index."""
    pairs = {
        pair: None
        for p in problem.outputs
        for pair in itertools.combinations([e for e in dict.fromkeys(p.shape) if _goes_far(problem, e)], 2)
    }
    return list(pairs)


def _goes_far(problem: Problem, extent: str) -> bool:
    return problem.widest.get(extent, 0) ** 2 >= 4 * AREA  # one of a pair may be twice as long as the other


def area(float_index: bool) -> int:
    """What the product of two extents must pass."""
    return FLOAT_WIDTH if float_index else AREA


def launch_tiles(problem: Problem, launch: Launch) -> dict[str, int]:
    """By size, how many elements the launch covers with one block more; sizes that the grid does not hang on are left
    out, and so are those whose tile is 1 or beyond the largest size.
    """
    asked = frozenset[str]().union(*map(names, launch.grid))
    found = {}
    for name, limit in free_sizes(problem).items():
        tile = _step(problem, launch, name, limit) if name in asked else 0
        if 1 < tile < limit:
            found[name] = tile
    return found


def whole_tiles(problem: Problem, launch: Launch) -> dict[str, int]:
    """What every size is a multiple of in a launch without tails: the launch's own tile, or a whole warp where there is
    room for one. Empty where the launch has no tiles.
    """
    tiles = launch_tiles(problem, launch)
    rest = {name: WARP if limit >= WARP else 1 for name, limit in free_sizes(problem).items()}
    return {**rest, **tiles} if tiles else {}


def many_blocks(problem: Problem, launch: Launch) -> dict[str, int]:
    """The launch's tiles of sizes that go far enough for more than `BLOCKS` blocks."""
    tiles = launch_tiles(problem, launch)
    return {name: tile for name, tile in tiles.items() if BLOCKS * tile < problem.widest.get(name, 0)}


def _step(problem: Problem, launch: Launch, name: str, limit: int) -> int:
    """The distance between the two first sizes at which the grid grows, or the first; 0 where it never does."""
    try:
        first = _grows(problem, launch, name, 1, limit)
        second = _grows(problem, launch, name, first, limit) if first else 0
    except ExpressionError:
        return 0
    return second - first if second else max(first - 1, 0)


def _grows(problem: Problem, launch: Launch, name: str, start: int, limit: int) -> int:
    """The least size above `start`, up to `limit`, whose grid is another; 0 where there is none."""

    def grid(value: int) -> object:
        return launch.shape({**problem.observed, name: value, MULTIPROCESSORS: _MANY}).grid

    before = grid(start)
    reach = 1
    while start + reach < limit and grid(start + reach) == before:
        reach *= 2
    low, high = start + reach // 2, min(start + reach, limit)
    if grid(high) == before:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if grid(middle) == before else (low, middle)
    return high


# -- which cases belong to a class -------------------------------------------------------------------------------------
_Rule = Callable[[Case], bool]


def _sized(name: str, members: Array) -> _Rule:
    wanted = frozenset(int(each) for each in members)
    return lambda case: case.sizes[name] in wanted and not case.offsets


def _residue(branch: Branch, residue: int) -> _Rule:
    return lambda case: case.sizes[branch.name] % VECTOR == residue and not case.offsets


def _longer(a: str, b: str) -> _Rule:
    return lambda case: case.sizes[b] > 1 and case.sizes[a] >= _ELONGATED * case.sizes[b]


def _over(name: str, width: int) -> _Rule:
    return lambda case: case.sizes[name] > width


def _both_over(a: str, b: str, least: int) -> _Rule:
    return lambda case: case.sizes[a] * case.sizes[b] > least and min(case.sizes[a], case.sizes[b]) > least**0.5 / 4


def _both(one: _Rule, other: _Rule) -> _Rule:
    return lambda case: one(case) and other(case)


def _drawn(kind: str) -> _Rule:
    return lambda case: case.data == kind


def _ordered(order: Order) -> _Rule:
    return lambda case: case.order == order


def _on_chip(many: int) -> _Rule:
    return lambda case: case.multiprocessors == many


def _past(name: str, tile: int, tail: int) -> _Rule:
    return lambda case: case.sizes[name] >= tile - 1 and case.sizes[name] % tile == tail % tile


def _whole(steps: Mapping[str, int]) -> _Rule:
    return lambda case: all(case.sizes[name] > 0 and case.sizes[name] % step == 0 for name, step in steps.items())


def _tail(tail: int) -> str:
    return {0: "a multiple of", -1: "one short of a multiple of"}.get(tail, f"{tail} past a multiple of")


# -- placement ---------------------------------------------------------------------------------------------------------
def placed(problem: Problem) -> tuple[Parameter, ...]:
    """The arrays, which may each begin elsewhere."""
    return tuple(p for p in problem.parameters if p.role != "scalar" and unit(problem, p) * _size(p) < 256)


def unit(problem: Problem, parameter: Parameter) -> int:
    """Elements by which the array may be moved away from an aligned address."""
    return max(1, problem.alignment // _size(parameter))


def _size(parameter: Parameter) -> int:
    return np.dtype(parameter.dtype).itemsize


def _bytes(problem: Problem, parameter: Parameter, units: int) -> str:
    return f"{units * unit(problem, parameter) * _size(parameter)} bytes"


def _alone(problem: Problem, parameter: Parameter, units: int) -> _Rule:
    return lambda case: dict(case.offsets) == {parameter.name: units * unit(problem, parameter)}


def _without(name: str) -> _Rule:
    return lambda case: case.sizes[name] == 0


def _moved(case: Case) -> bool:
    return bool(case.offsets)


def _still(case: Case) -> bool:
    return not case.offsets


def _narrow(name: str) -> _Rule:
    return lambda case: case.sizes[name] == 1


def _few(problem: Problem) -> _Rule:
    sizes = free_sizes(problem)
    return lambda case: max(case.sizes[name] for name in sizes) < VECTOR


def _displaced(parameter: Parameter) -> _Rule:
    return lambda case: parameter.name in case.offsets


def _alike(problem: Problem, units: int) -> _Rule:
    every = {p.name: units * unit(problem, p) for p in placed(problem)}
    return lambda case: dict(case.offsets) == every


def _apart(problem: Problem) -> _Rule:
    every = {p.name for p in placed(problem)}
    return lambda case: set(case.offsets) == every and len(set(case.offsets.values())) > 1
