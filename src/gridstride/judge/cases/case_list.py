"""Which cases a kernel is run on: the public ones, and hidden ones drawn fresh for every class of `coverage`."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gridstride.judge.cases.coverage import BEYOND, CHIPS, NEXT, ORDERS, is_flat, kinds_when_wide, placed, unit
from gridstride.judge.cases.data import generate, kinds
from gridstride.judge.cases.drawn_sizes import alone, among, one_of, stencil_sizes, strided, vectorisable
from gridstride.judge.cases.sizes import (
    AREA,
    SMALL,
    SMALL_CASES,
    VECTOR,
    WARP,
    WIDTHS,
    areas,
    elongated,
    free_sizes,
    least_near,
    quotients,
    size_classes,
    small_classes,
)
from gridstride.judge.problem import Case, Problem

_FAR = 65_537  # units between an aligned address and where an array begins, among those next to it
_AGAIN = 5  # every so many cases are followed by other data
_FRESH = range(1, 1 + len(ORDERS))  # cases that begin in another order, with variables that know of no launch
_QUICK = 1 << 21  # product of the sizes up to which a public shape is run with every kind of data
ONCE = 1 << 13  # a larger size is run once
_PER_KIND = 2  # hidden cases with each kind of data, besides the public one
_DIVISORS = 2  # of each pair of sizes
_BESIDE = 3  # at most, of the other sizes
_QUOTIENT = 1 << 26  # operations or bytes of such a case: some kernels do each of them a hundred times
_SPECIAL = 4  # the same with each kind of the problem's own


def all_cases(problem: Problem, *, seed: int) -> tuple[Case, ...]:
    """Public cases in their order, then hidden ones drawn from `seed`: every class but those of a launch."""
    return ordered([*public_cases(problem), *hidden_cases(problem, seed=seed)])


def public_cases(problem: Problem) -> tuple[Case, ...]:
    """Every public shape with random data, and every other kind of data on the largest public shape; that shape with
    each size that may be 0 as 0.

    The largest shape has whole tiles, a tail and several blocks, so a kind that needs neighbours finds them. It is run
    as on a chip of one multiprocessor, too. One that a kernel could read four elements at a time, the largest with a
    tail where there is one, is also run with arrays that begin elsewhere.
    """
    shapes = [Case(sizes, "normal", seed) for seed, sizes in enumerate(problem.public)]
    largest = _largest(problem)
    other_kinds = [kind for kind in kinds(problem) if kind != "normal"]
    other_cases = [Case(largest, kind, len(shapes) + number) for number, kind in enumerate(other_kinds)]
    seed = len(shapes) + len(other_kinds)
    on_one_multiprocessor = Case(largest, "normal", seed, multiprocessors=1)
    misaligned = Case(
        _vectors(problem, largest), "normal", seed + 1, offsets={p.name: unit(problem, p) for p in placed(problem)}
    )
    empty = [Case({**largest, name: 0}, "normal", seed + 2 + number) for number, name in enumerate(problem.zeros)]
    return ordered(
        [*shapes, on_one_multiprocessor, *([misaligned] if misaligned.offsets else []), *other_cases, *empty]
    )


def _vectors(problem: Problem, largest: Mapping[str, int]) -> Mapping[str, int]:
    """A public shape that can be read in vectors, with a tail where there is one."""
    quick = [sizes for sizes in problem.public if prod(sizes.values()) <= _QUICK]
    even = [sizes for sizes in quick if all(size % VECTOR == 0 for size in sizes.values())]
    return max(even, key=lambda sizes: (any(n % WARP for n in sizes.values()), prod(sizes.values())), default=largest)


def hidden_cases(problem: Problem, *, seed: int) -> tuple[Case, ...]:
    """Cases that no kernel can know beforehand, of every class."""
    draw = random.Random(f"{problem.name} {seed}")
    cases = [
        *_swept(draw, problem),
        *_elongated(draw, problem),
        *_divided(draw, problem),
        *_empty(draw, problem),
        *_of_every_kind(draw, problem),
        *_small_of_every_kind(draw, problem),
        *_pairs_and_powers(draw, problem),
        *_thin(draw, problem),
        *_elsewhere(draw, problem),
        *_few_blocks(draw, problem),
        *_wide(draw, problem),
        *large_cases(draw, problem, AREA),
    ]
    # Odd and even seeds in turn: some kinds of data are of two sorts (`data._ZEROS`), and neighbours are of one kind.
    seeds = (2 * draw.randrange(2**30) + number % 2 for number in range(len(cases)))
    return tuple(replace(case, seed=seed, hidden=True) for case, seed in zip(cases, seeds, strict=True))


def drawn_cases(problem: Problem, *, seed: int, count: int) -> tuple[Case, ...]:
    """More cases of the same kinds, as many as are asked for."""
    cases: list[Case] = []
    for more in itertools.count():
        if len(cases) >= count:
            break
        cases += hidden_cases(problem, seed=seed + more)
    draw = random.Random(seed)
    return ordered(draw.sample(cases, count))


def unchanging(problem: Problem) -> tuple[str, ...]:
    """Inputs that hold the same in every case: a kernel that has them built in would not be noticed.

    Looked for on the largest public shape, in two cases of each kind of data.
    """
    extents = [*problem.public, problem.largest, problem.observed]
    same = {n for n in problem.sizes if len({extent[n] for extent in extents}) < 2}
    undecided = {p.name for p in problem.parameters if p.role in ("in", "scalar")} - set(problem.sizes)
    shape = _largest(problem)
    first: dict[str, Any] = {}
    for kind, seed in itertools.product(kinds(problem), (1, 2)):
        if not undecided:
            break
        values = generate(problem, Case(shape, kind, seed))
        first = first or values
        undecided -= {name for name in undecided if _bits(values[name]) != _bits(first[name])}
    return tuple(p.name for p in problem.parameters if p.name in same | undecided)


def _largest(problem: Problem) -> Mapping[str, int]:
    """The largest public shape that many runs can be made of. What a larger one shows besides it shows in its own."""
    extent = {number: prod(sizes.values()) for number, sizes in enumerate(problem.public)}
    quick = [number for number in extent if extent[number] <= _QUICK] or [min(extent, key=extent.__getitem__)]
    return problem.public[max(quick, key=extent.__getitem__)]


def _bits(value: Any) -> bytes:
    return np.asarray(value).tobytes()


def ordered(cases: Sequence[Case]) -> tuple[Case, ...]:
    """Every order of blocks in turn; other data after the first case and then after every few; every other case with
    its arrays the other way round in memory.
    """
    orders = itertools.cycle(ORDERS)
    return tuple(
        replace(
            case,
            order=next(orders),
            again=not case.once and number % _AGAIN == 0,
            fresh=number in _FRESH,
            mirrored=(number + number // len(ORDERS)) % 2 == 1,  # in every order some
        )
        for number, case in enumerate(cases)
    )


# -- what is drawn -----------------------------------------------------------------------------------------------------
def _swept(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """Every class of each size: small ones with others of middling size, the rest of all sizes at a time."""
    columns = {}
    for name, limit in free_sizes(problem).items():
        classes = size_classes(limit, problem.tiles)
        small = small_classes(limit)
        for members in small.values():
            yield Case(among(draw, problem, {name: one_of(draw, members)}), "normal", 0)
        columns[name] = [one_of(draw, members) for what, members in classes.items() if what not in small]
    for values in columns.values():
        draw.shuffle(values)
    for row in itertools.zip_longest(*columns.values()):
        fixed = {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        yield Case(among(draw, problem, fixed), "normal", 0)


def _elongated(draw: random.Random, problem: Problem) -> Iterator[Case]:
    limits = free_sizes(problem)
    for long, short in elongated(problem):
        size = draw.randint(max(8, limits[long] // 2), limits[long])
        short_size = draw.randint(2, max(2, min(limits[short], size // 4)))
        yield Case(among(draw, problem, {long: size, short: short_size}), "normal", 0)


def _divided(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """One size over another that a float's reciprocal divides wrongly, a few of each, and a double's; the others next
    to nothing, but not 1: in hundreds of rows of one column a norm's gradient is what rounding leaves, all one way.
    """
    for (over, by), divisors in quotients(problem).items():
        smallest = dict.fromkeys(problem.largest, _BESIDE)
        quick = [d for d in divisors if max(problem.work({**smallest, over: 2 * d, by: d})) <= _QUOTIENT]
        quick = quick if len(quick) >= _DIVISORS else divisors[:_DIVISORS]
        in_double = [d for d in quick if d * (1.0 / d) < 1.0]
        chosen = draw.sample(in_double, min(1, len(in_double)))
        chosen += draw.sample(sorted({*quick} - {*chosen}), min(_DIVISORS, len(quick)) - len(chosen))
        for divisor in chosen:
            sizes = {over: draw.randint(divisor + 1, 2 * divisor), by: divisor}
            yield Case(alone(draw, problem, sizes, least=2), "normal", 0, once=True)


def _empty(draw: random.Random, problem: Problem) -> Iterator[Case]:
    for name in problem.zeros:
        yield Case(among(draw, problem, {name: 0}), "normal", 0)
        yield Case(among(draw, problem, {name: 0}), "normal", 0, offsets=_distinct_offsets(draw, problem))


def _of_every_kind(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """Every other case past aligned addresses: which code a kernel takes there decides what it does to the values."""
    for kind in kinds(problem):
        for number in range(_SPECIAL if kind in problem.special else _PER_KIND):
            offsets = _distinct_offsets(draw, problem) if number % 2 else {}
            yield Case(among(draw, problem, {}), kind, 0, offsets=offsets)


def _small_of_every_kind(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """A problem's own kinds of data where all sizes are small: what is far within a large array is beyond a small one's
    edge, several times.
    """
    sizes = free_sizes(problem)
    for kind, _ in itertools.product(problem.special if len(sizes) > 1 else (), range(SMALL_CASES)):
        small = {name: draw.randint(min(2, limit), min(SMALL, limit)) for name, limit in sizes.items()}
        yield Case(strided(draw, problem, small), kind, 0, once=True)


def _thin(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """Each size as 1, the others such as vectors fit, with every kind of data at aligned addresses and past them: for a
    column, a vector or a picture of one row experts write a path of its own. And less than a vector of everything, each
    array past an aligned address alone, and all of them.
    """
    sizes, arrays = free_sizes(problem), placed(problem)
    for name, kind in itertools.product(sizes, kinds(problem)):
        for past in (False, True) if arrays else (False,):
            thin = strided(draw, problem, {**vectorisable(draw, problem), name: 1})
            yield Case(thin, kind, 0, offsets=_distinct_offsets(draw, problem) if past else {}, once=True)
    for size in range(1, VECTOR):
        for moved in dict.fromkeys([*((p,) for p in arrays), arrays]):
            small = strided(draw, problem, dict.fromkeys(sizes, size))
            yield Case(small, "normal", 0, offsets={p.name: unit(problem, p) for p in moved}, once=True)


def _pairs_and_powers(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """Every kind of data where sizes are read in twos but not in fours, and where they are powers of two: kernels have
    code of their own for both.
    """
    sizes = free_sizes(problem)
    for kind in kinds(problem):
        twos = {name: _drawn_pair(draw, limit) for name, limit in sizes.items()}
        powers = {name: _drawn_power(draw, limit) for name, limit in sizes.items()}
        for table in (twos, powers):
            yield Case(strided(draw, problem, table), kind, 0, once=True)


def _drawn_power(draw: random.Random, limit: int) -> int:
    """A power of two, mostly one of the two largest: what is kept for those is kept for large ones."""
    most = limit.bit_length() - 1
    return 1 << one_of(draw, (most, most, max(most - 1, 0), draw.randint(limit.bit_length() // 2, most)))


def _drawn_pair(draw: random.Random, limit: int) -> int:
    return draw.randrange(2 + limit // 16 * 4, limit + 1, 4) if limit >= 2 else limit


def _elsewhere(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """Each array alone, as far from an aligned address as matters; then all, by as much and each in its own way.

    The sizes are such as kernels read in vectors: another size keeps them from it whatever the address.
    """
    arrays = placed(problem)
    for p in arrays:
        beyond = BEYOND if is_flat(problem) else (draw.choice(BEYOND),)
        for units in (*NEXT, *beyond):
            yield Case(vectorisable(draw, problem), "normal", 0, offsets={p.name: units * unit(problem, p)})
    if len(arrays) < 2:
        return
    for units in (*NEXT, *(BEYOND if is_flat(problem) else ())):
        yield Case(vectorisable(draw, problem), "normal", 0, offsets={p.name: units * unit(problem, p) for p in arrays})
    for sizes in (vectorisable(draw, problem), among(draw, problem, {})):
        yield Case(sizes, "normal", 0, offsets=_distinct_offsets(draw, problem))
    for units, tail in itertools.product(NEXT, range(1, VECTOR)) if is_flat(problem) else ():
        offsets = {p.name: units * unit(problem, p) for p in arrays}
        yield Case(_with_tail(vectorisable(draw, problem), tail), "normal", 0, offsets=offsets)
    for still in arrays if len(arrays) > 2 else ():
        for units in NEXT if is_flat(problem) else (draw.choice(NEXT),):
            offsets = {p.name: units * unit(problem, p) for p in arrays if p is not still}
            yield Case(vectorisable(draw, problem), "normal", 0, offsets=offsets)


def _with_tail(sizes: Mapping[str, int], tail: int) -> dict[str, int]:
    """One vector less and a tail, in every size."""
    return {name: size if size < VECTOR else size - VECTOR + tail for name, size in sizes.items()}


def _distinct_offsets(draw: random.Random, problem: Problem) -> dict[str, int]:
    arrays = placed(problem)
    units = draw.sample([1, 2, 3, _FAR], k=min(4, len(arrays)))
    return {
        p.name: units_past * unit(problem, p) for p, units_past in zip(arrays, itertools.cycle(units), strict=False)
    }


def _few_blocks(draw: random.Random, problem: Problem) -> Iterator[Case]:
    for multiprocessors in CHIPS:
        yield Case(among(draw, problem, {}), "normal", 0, multiprocessors=multiprocessors)


def _wide(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """One size far beyond what it is else, the others next to nothing."""
    for name, most in problem.widest.items():
        passed = [width for width in WIDTHS if width < most]
        for width in passed[:-1]:
            size = draw.randint(width + 1, min(most, width + width // 16 + WARP))
            yield Case(alone(draw, problem, {name: size}), "normal", 0, once=size > ONCE)
        least = max([least_near(most), *(width + 1 for width in passed[-1:])])
        for kind in kinds_when_wide(problem, most):
            size = draw.randint(least, most)
            sizes = (
                alone(draw, problem, {name: size}) if least_near(most) < most else stencil_sizes(draw, problem, name)
            )
            yield Case(sizes, kind, 0, once=size > ONCE)


def large_cases(draw: random.Random, problem: Problem, least: int) -> Iterator[Case]:
    """Two extents of an output that are both large, the others next to nothing."""
    for a, b in areas(problem):
        long = draw.randint(int(least**0.5), 2 * int(least**0.5))
        large = {a: long, b: least // long + draw.randint(1, 40)}
        yield Case(alone(draw, problem, large), "normal", 0, once=True)
