"""Which cases a kernel is run on: the public ones, and hidden ones drawn fresh for every class of `coverage`."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from gridstride.judge.cases.branches import Branch, Combination, branches
from gridstride.judge.cases.coverage import CHIPS, CROWDED, ORDERS, kinds_when_wide, placed, unit
from gridstride.judge.cases.data import generate, kinds
from gridstride.judge.cases.far_sizes import far_cases
from gridstride.judge.cases.size_conditions import SizeCondition
from gridstride.judge.cases.sizes import (
    AREA,
    BLOCKS,
    FLOAT_WIDTH,
    TAILS,
    VECTOR,
    WARP,
    WIDTHS,
    areas,
    crowded,
    elongated,
    free_sizes,
    launch_tiles,
    least_near,
    many_blocks,
    middling,
    persistent,
    size_classes,
    small_classes,
    whole_tiles,
)
from gridstride.judge.header import Launch
from gridstride.judge.problem import Case, Order, Problem

_FAR = 65_537  # units between an aligned address and where an array begins, among those next to it
_GAPS = (0, 1, 3, 4, 17, 32)  # elements between the rows of an array with a stride
_AGAIN = 5  # every so many cases are followed by other data
_FRESH = range(1, 1 + len(ORDERS))  # cases that begin in another order, with variables that know of no launch
_BETWEEN: tuple[tuple[Order, int], ...] = (("reversed", 1), ("in step", 1), ("reversed", 3))  # launches of small sizes
_QUICK = 1 << 21  # product of the sizes up to which a public shape is run with every kind of data
_ONCE = 1 << 13  # a larger size is run once
_PER_KIND = 2  # hidden cases with each kind of data, besides the public one
_SPECIAL = 4  # the same with each kind of the problem's own


def all_cases(problem: Problem, *, seed: int) -> tuple[Case, ...]:
    """Public cases in their order, then hidden ones drawn from `seed`: every class but those of a launch."""
    return _ordered([*public_cases(problem), *hidden_cases(problem, seed=seed)])


def public_cases(problem: Problem) -> tuple[Case, ...]:
    """Every public shape with random data, and every other kind of data on the largest public shape; that shape with
    each size that may be 0 as 0.

    The largest shape has whole tiles, a tail and several blocks, so a kind that needs neighbours finds them. It is run
    as on a chip of one multiprocessor, too. One that a kernel could read four elements at a time, the largest with a
    tail where there is one, is also run with arrays that begin elsewhere.
    """
    shapes = [Case(sizes, "normal", seed) for seed, sizes in enumerate(problem.public)]
    largest = _largest(problem)
    rest = [kind for kind in kinds(problem) if kind != "normal"]
    others = [Case(largest, kind, len(shapes) + number) for number, kind in enumerate(rest)]
    seed = len(shapes) + len(rest)
    alone = Case(largest, "normal", seed, multiprocessors=1)
    apart = Case(
        _vectors(problem, largest), "normal", seed + 1, offsets={p.name: unit(problem, p) for p in placed(problem)}
    )
    empty = [Case({**largest, name: 0}, "normal", seed + 2 + number) for number, name in enumerate(problem.zeros)]
    return _ordered([*shapes, alone, *([apart] if apart.offsets else []), *others, *empty])


def _vectors(problem: Problem, largest: Mapping[str, int]) -> Mapping[str, int]:
    """A public shape that can be read in vectors, with a tail where there is one."""
    quick = [sizes for sizes in problem.public if prod(sizes.values()) <= _QUICK]
    even = [sizes for sizes in quick if all(size % VECTOR == 0 for size in sizes.values())]
    return max(even, key=lambda sizes: (any(n % WARP for n in sizes.values()), prod(sizes.values())), default=largest)


def hidden_cases(problem: Problem, *, seed: int) -> tuple[Case, ...]:
    """Cases that no kernel can know beforehand, of every class."""
    draw = random.Random(f"{problem.name} {seed}")
    made = [
        *_swept(draw, problem),
        *_elongated(draw, problem),
        *_empty(draw, problem),
        *_of_every_kind(draw, problem),
        *_pairs_and_powers(draw, problem),
        *_thin(draw, problem),
        *_elsewhere(draw, problem),
        *_few_blocks(draw, problem),
        *_wide(draw, problem),
        *_large(draw, problem, AREA),
    ]
    # Odd and even seeds in turn: some kinds of data are of two sorts (`data._ZEROS`), and neighbours are of one kind.
    seeds = (2 * draw.randrange(2**30) + number % 2 for number in range(len(made)))
    return tuple(replace(case, seed=seed, hidden=True) for case, seed in zip(made, seeds, strict=True))


def kernel_cases(
    problem: Problem,
    launch: Launch,
    *,
    float_index: bool,
    conditions: Iterable[SizeCondition] = (),
    constants: Iterable[int] = (),
    keeps: bool = False,
    seed: int,
) -> tuple[Case, ...]:
    """Cases next to the tiles of the kernel's own launch, where an index is too large for the float that it was, and at
    both sides of what the kernel's text decides by; of one that `keeps` variables from launch to launch, a large size
    behind others.
    """
    draw = random.Random(f"{problem.name} {seed} launch")
    made = []
    for name, tile in launch_tiles(problem, launch).items():
        for tail in (0, *TAILS):
            most = max(1, min(3, (problem.largest[name] - tail) // tile))
            size = draw.randint(1, most) * tile + tail
            made.append(Case(_with(draw, problem, {name: size}), "normal", draw.randrange(2**31), hidden=True))
    for name, tile in many_blocks(problem, launch).items():
        size = draw.randint(BLOCKS * tile + 1, problem.widest[name])
        made.append(Case(_alone(draw, problem, {name: size}), "normal", draw.randrange(2**31), hidden=True, once=True))
    for name in crowded(problem, launch):
        most = problem.widest[name]
        for kind in CROWDED:
            if kind not in problem.without:
                size = draw.randint(least_near(most), most)
                alone = Case(_alone(draw, problem, {name: size}), kind, draw.randrange(2**31), multiprocessors=1)
                made.append(replace(alone, hidden=True, once=True))
    for sizes in persistent(problem, launch):
        made.append(Case(sizes, "normal", draw.randrange(2**31), multiprocessors=1, hidden=True, once=True))
    for sizes in _whole_tiles(draw, problem, launch):
        made.append(Case(sizes, "normal", draw.randrange(2**31), hidden=True))
    if float_index:
        far = [*_far(draw, problem), *_large(draw, problem, FLOAT_WIDTH)]
        made += [replace(case, seed=draw.randrange(2**31), hidden=True) for case in far]
    made += far_cases(problem, launch, constants, draw)
    for branch in branches(problem, conditions, launch):
        taken = _at_branch(draw, problem, branch)
        made += [replace(case, seed=draw.randrange(2**31), hidden=True) for case in taken]
    return (*_ordered(made), *(_left_over(draw, problem, launch) if keeps else ()))


def drawn_cases(problem: Problem, *, seed: int, count: int) -> tuple[Case, ...]:
    """More cases of the same kinds, as many as are asked for."""
    made: list[Case] = []
    for more in itertools.count():
        if len(made) >= count:
            break
        made += hidden_cases(problem, seed=seed + more)
    draw = random.Random(seed)
    return _ordered(draw.sample(made, count))


def unchanging(problem: Problem) -> tuple[str, ...]:
    """Inputs that hold the same in every case: a kernel that has them built in would not be noticed.

    Looked for on the largest public shape, in two cases of each kind of data.
    """
    extents = [*problem.public, problem.largest, problem.observed]
    same = {n for n in problem.sizes if len({each[n] for each in extents}) < 2}
    left = {p.name for p in problem.parameters if p.role in ("in", "scalar")} - set(problem.sizes)
    shape = _largest(problem)
    first: dict[str, Any] = {}
    for kind, seed in itertools.product(kinds(problem), (1, 2)):
        if not left:
            break
        values = generate(problem, Case(shape, kind, seed))
        first = first or values
        left -= {name for name in left if _bits(values[name]) != _bits(first[name])}
    return tuple(p.name for p in problem.parameters if p.name in same | left)


def _largest(problem: Problem) -> Mapping[str, int]:
    """The largest public shape that many runs can be made of. What a larger one shows besides it shows in its own."""
    extent = {number: prod(sizes.values()) for number, sizes in enumerate(problem.public)}
    quick = [number for number in extent if extent[number] <= _QUICK] or [min(extent, key=extent.__getitem__)]
    return problem.public[max(quick, key=extent.__getitem__)]


def _bits(value: Any) -> bytes:
    return np.asarray(value).tobytes()


def _ordered(cases: Sequence[Case]) -> tuple[Case, ...]:
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
        known = size_classes(limit, problem.tiles)
        small = small_classes(limit)
        for members in small.values():
            yield Case(_with(draw, problem, {name: _one_of(draw, members)}), "normal", 0)
        columns[name] = [_one_of(draw, members) for what, members in known.items() if what not in small]
    for values in columns.values():
        draw.shuffle(values)
    for row in itertools.zip_longest(*columns.values()):
        given = {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        yield Case(_with(draw, problem, given), "normal", 0)


def _elongated(draw: random.Random, problem: Problem) -> Iterator[Case]:
    limits = free_sizes(problem)
    for long, short in elongated(problem):
        size = draw.randint(max(8, limits[long] // 2), limits[long])
        other = draw.randint(2, max(2, min(limits[short], size // 4)))
        yield Case(_with(draw, problem, {long: size, short: other}), "normal", 0)


def _empty(draw: random.Random, problem: Problem) -> Iterator[Case]:
    for name in problem.zeros:
        yield Case(_with(draw, problem, {name: 0}), "normal", 0)
        yield Case(_with(draw, problem, {name: 0}), "normal", 0, offsets=_each_elsewhere(draw, problem))


def _of_every_kind(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """Every other case past aligned addresses: which code a kernel takes there decides what it does to the values."""
    for kind in kinds(problem):
        for number in range(_SPECIAL if kind in problem.special else _PER_KIND):
            offsets = _each_elsewhere(draw, problem) if number % 2 else {}
            yield Case(_with(draw, problem, {}), kind, 0, offsets=offsets)


def _thin(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """Each size as 1, the others such as vectors fit, with every kind of data at aligned addresses and past them: for a
    column, a vector or a picture of one row experts write a path of its own. And less than a vector of everything, each
    array past an aligned address alone, and all of them.
    """
    sizes, arrays = free_sizes(problem), placed(problem)
    for name, kind in itertools.product(sizes, kinds(problem) if len(sizes) > 1 else ("normal",)):
        for past in (False, True) if arrays else (False,):
            thin = _strided(draw, problem, {**_vectorisable(draw, problem), name: 1})
            yield Case(thin, kind, 0, offsets=_each_elsewhere(draw, problem) if past else {}, once=True)
    for few in range(1, VECTOR):
        for moved in dict.fromkeys([*((p,) for p in arrays), arrays]):
            small = _strided(draw, problem, dict.fromkeys(sizes, few))
            yield Case(small, "normal", 0, offsets={p.name: unit(problem, p) for p in moved}, once=True)


def _pairs_and_powers(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """Every kind of data where sizes are read in twos but not in fours, and where they are powers of two: kernels have
    code of their own for both.
    """
    sizes = free_sizes(problem)
    for kind in kinds(problem):
        twos = {name: _drawn_pair(draw, limit) for name, limit in sizes.items()}
        powers = {name: 1 << draw.randint(limit.bit_length() // 2, limit.bit_length() - 1)
                  for name, limit in sizes.items()}  # fmt: skip
        for given in (twos, powers):
            yield Case(_strided(draw, problem, given), kind, 0, once=True)


def _drawn_pair(draw: random.Random, limit: int) -> int:
    return draw.randrange(2 + limit // 16 * 4, limit + 1, 4) if limit >= 2 else limit


def _elsewhere(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """Each array alone, as far from an aligned address as matters; then all, by as much and each in its own way.

    The sizes are such as kernels read in vectors: another size keeps them from it whatever the address.
    """
    arrays = placed(problem)
    for p in arrays:
        for units in (1, 2, 3):
            yield Case(_vectorisable(draw, problem), "normal", 0, offsets={p.name: units * unit(problem, p)})
    if len(arrays) < 2:
        return
    for units in (1, 2, 3):
        yield Case(
            _vectorisable(draw, problem), "normal", 0, offsets={p.name: units * unit(problem, p) for p in arrays}
        )
    for sizes in (_vectorisable(draw, problem), _with(draw, problem, {})):
        yield Case(sizes, "normal", 0, offsets=_each_elsewhere(draw, problem))
    for still in arrays if len(arrays) > 2 else ():
        units = draw.choice((1, 2, 3))
        offsets = {p.name: units * unit(problem, p) for p in arrays if p is not still}
        yield Case(_vectorisable(draw, problem), "normal", 0, offsets=offsets)


def _each_elsewhere(draw: random.Random, problem: Problem) -> dict[str, int]:
    arrays = placed(problem)
    units = draw.sample([1, 2, 3, _FAR], k=min(4, len(arrays)))
    return {p.name: many * unit(problem, p) for p, many in zip(arrays, itertools.cycle(units), strict=False)}


def _whole_tiles(draw: random.Random, problem: Problem, launch: Launch) -> Iterator[dict[str, int]]:
    """Sizes without a tail anywhere, where a kernel may leave its guards out; the same with each that may be 0 as 0."""
    steps = whole_tiles(problem, launch)
    sizes = {n: step * draw.randint(1, max(1, min(2, problem.largest[n] // step))) for n, step in steps.items()}
    for empty in ("", *problem.zeros) if steps else ():
        yield _strided(draw, problem, {name: 0 if name == empty else size for name, size in sizes.items()})


def _left_over(draw: random.Random, problem: Problem, launch: Launch) -> Iterator[Case]:
    """A large size, one or three small ones, and the large one in another order at once. What the first launch left for
    blocks that the small ones lack is taken for new where launches are told apart by one bit, or by two.
    """
    for name, tile in launch_tiles(problem, launch).items():
        most = problem.largest[name]
        sizes = _alone(draw, problem, {name: draw.randint(most - most // 8, most)})
        for order, between in _BETWEEN:
            small = [_alone(draw, problem, {name: draw.randint(1, tile)}) for _ in range(between)]
            for number, each in enumerate((sizes, *small, sizes)):
                seed, last = draw.randrange(2**31), number == between + 1
                yield Case(each, "normal", seed, hidden=True, order=order, once=True, swapped=last)


def _few_blocks(draw: random.Random, problem: Problem) -> Iterator[Case]:
    for many in CHIPS:
        yield Case(_with(draw, problem, {}), "normal", 0, multiprocessors=many)


def _far(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """One size where a float does not hold every index, for problems whose sizes go far at all."""
    for name, most in problem.widest.items():
        if most > WIDTHS[-1]:
            far = FLOAT_WIDTH + draw.randint(1, 1 << 20)
            yield Case(_alone(draw, problem, {name: far}), "normal", 0, once=True)


def _wide(draw: random.Random, problem: Problem) -> Iterator[Case]:
    """One size far beyond what it is else, the others next to nothing."""
    for name, most in problem.widest.items():
        passed = [width for width in WIDTHS if width < most]
        for width in passed[:-1]:
            size = draw.randint(width + 1, min(most, width + width // 16 + WARP))
            yield Case(_alone(draw, problem, {name: size}), "normal", 0, once=size > _ONCE)
        least = max([least_near(most), *(width + 1 for width in passed[-1:])])
        for kind in kinds_when_wide(problem, most):
            size = draw.randint(least, most)
            sizes = _alone(draw, problem, {name: size}) if least_near(most) < most else _around(draw, problem, name)
            yield Case(sizes, kind, 0, once=size > _ONCE)


def _large(draw: random.Random, problem: Problem, least: int) -> Iterator[Case]:
    """Two extents of an output that are both large, the others next to nothing."""
    for a, b in areas(problem):
        long = draw.randint(int(least**0.5), 2 * int(least**0.5))
        large = {a: long, b: least // long + draw.randint(1, 40)}
        yield Case(_alone(draw, problem, large), "normal", 0, once=True)


def _at_branch(draw: random.Random, problem: Problem, branch: Branch | Combination) -> Iterator[Case]:
    """Sizes at which a kernel takes a way of its own, with every kind of data, tail and place of an array."""
    usual = free_sizes(problem)

    def case(kind: str, residue: int | None = None, offsets: Mapping[str, int] = {}) -> Case:
        given = branch.drawn(draw, residue)
        far = any(size > usual[name] for name, size in given.items())
        sizes = _alone(draw, problem, given) if far else _with(draw, problem, given)
        return Case(sizes, kind, 0, offsets=offsets, once=max(given.values()) > _ONCE)

    for kind in kinds(problem):
        yield case(kind)
    for residue in branch.residues:
        yield case("normal", residue)
    arrays = placed(problem)
    for p in arrays:
        yield case("normal", branch.residues[0], {p.name: unit(problem, p)})
    if len(arrays) > 1:
        yield case("normal", branch.residues[0], {p.name: unit(problem, p) for p in arrays})


# -- sizes -------------------------------------------------------------------------------------------------------------
def _with(draw: random.Random, problem: Problem, given: Mapping[str, int]) -> dict[str, int]:
    """These sizes, and others of middling size: odd ones, and such as vectors or whole warps fit."""
    sizes = {
        name: given[name] if name in given else middling(draw, limit) for name, limit in free_sizes(problem).items()
    }
    return _strided(draw, problem, sizes)


def _alone(draw: random.Random, problem: Problem, given: Mapping[str, int]) -> dict[str, int]:
    """These sizes, and next to nothing of the others."""
    rest = {name: draw.randint(1, min(3, limit)) for name, limit in free_sizes(problem).items()}
    return _strided(draw, problem, {**rest, **given})


def _around(draw: random.Random, problem: Problem, name: str) -> dict[str, int]:
    """A small size at its largest, the others two to three times as large as far as they go: an image in which every
    weight of a stencil of the largest radius counts.
    """
    most = problem.widest[name]
    sizes = {
        other: draw.randint(min(limit, 2 * most + 1), min(limit, 3 * most))
        for other, limit in free_sizes(problem).items()
    }
    return _strided(draw, problem, {**sizes, name: most})


def _strided(draw: random.Random, problem: Problem, sizes: Mapping[str, int]) -> dict[str, int]:
    """In the problem's order, with strides as wide as their rows or wider."""
    made = {**sizes, **{stride: sizes[width] + draw.choice(_GAPS) for stride, width in problem.strides.items()}}
    return {name: made[name] for name in problem.largest}


def _vectorisable(draw: random.Random, problem: Problem) -> dict[str, int]:
    """Multiples of eight, most of them no multiple of a warp."""
    sizes = {
        name: max(1, draw.randint(max(1, limit // 16), max(1, limit // 8)) * 8) if limit >= 8 else limit
        for name, limit in free_sizes(problem).items()
    }
    made = {**sizes, **{stride: sizes[width] + 8 * draw.randint(0, 2) for stride, width in problem.strides.items()}}
    return {name: made[name] for name in problem.largest}


def _one_of(draw: random.Random, members: Iterable[int]) -> int:
    return int(draw.choice(list(members)))
