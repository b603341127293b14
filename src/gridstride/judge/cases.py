"""Which cases a kernel is run on: the public ones with every kind of data, and hidden ones drawn fresh."""

from __future__ import annotations

import itertools
import random
from collections.abc import Mapping, Sequence
from math import prod

from gridstride.judge.data import kinds
from gridstride.judge.problem import Case, Problem

_HIDDEN = 4  # fresh cases in each judging
_CHIPS = (None, None, 1, 3)  # multiprocessors that a hidden case's grid is made for; None: the device's own
_TILE = 32  # elements of a warp, and the side of most tiles
_VECTOR = 4  # elements that kernels read at once, where sizes and addresses allow
_OFFSETS = (0, 0, 1, 2, 3, 65_537)  # elements between an aligned address and where a hidden case's arrays begin
_GAPS = (0, 1, 3, 4, 17, 32)  # elements between the rows of an array with a stride


def all_cases(problem: Problem, *, seed: int, hidden: int = _HIDDEN) -> tuple[Case, ...]:
    """Public cases in their order, then hidden ones drawn from `seed`."""
    return (*public_cases(problem), *hidden_cases(problem, seed=seed, count=hidden))


def public_cases(problem: Problem) -> tuple[Case, ...]:
    """Every public shape with random data, and every other kind of data on the largest public shape; that shape with
    each size that may be 0 as 0.

    The largest shape has whole tiles, a tail and several blocks, so a kind that needs neighbours finds them. It is run
    as on a chip of one multiprocessor, too. One that a kernel could read four elements at a time, the largest with a
    tail where there is one, is also run with arrays that begin one element past an aligned address.
    """
    shapes = [Case(sizes, "normal", seed) for seed, sizes in enumerate(problem.public)]
    largest = max(problem.public, key=lambda sizes: prod(sizes.values()))
    rest = [kind for kind in kinds(problem) if kind != "normal"]
    others = (Case(largest, kind, len(shapes) + number) for number, kind in enumerate(rest))
    seed = len(shapes) + len(rest)
    alone = Case(largest, "normal", seed, multiprocessors=1)
    even = [sizes for sizes in problem.public if all(size % _VECTOR == 0 for size in sizes.values())]
    vectors = max(even, key=_ragged, default=largest)
    apart = () if problem.aligned else (Case(vectors, "normal", seed + 1, offset=1),)
    empty = (Case({**largest, name: 0}, "normal", seed + 2 + number) for number, name in enumerate(problem.zeros))
    return (*shapes, alone, *apart, *others, *empty)


def _ragged(sizes: Mapping[str, int]) -> tuple[bool, int]:
    """Sizes with a tail come first, then large ones."""
    return any(size % _TILE for size in sizes.values()), prod(sizes.values())


def hidden_cases(problem: Problem, *, seed: int, count: int = _HIDDEN) -> tuple[Case, ...]:
    """Shapes that no kernel can know beforehand: ones, primes, next to tiles; sizes up to `problem.largest`."""
    draw = random.Random(f"{problem.name} {seed}")
    order = itertools.cycle(draw.sample(kinds(problem), k=len(kinds(problem))))
    return tuple(
        Case(
            _sizes(draw, problem),
            next(order),
            draw.randrange(2**31),
            hidden=True,
            multiprocessors=draw.choice(_CHIPS),
            offset=0 if problem.aligned else draw.choice(_OFFSETS),
        )
        for _ in range(count)
    )


def _sizes(draw: random.Random, problem: Problem) -> dict[str, int]:
    """Every size, and strides as wide as their rows or wider."""
    sizes = {
        name: _size(draw, problem.tiles, limit, zero=name in problem.zeros) for name, limit in problem.largest.items()
    }
    return sizes | {stride: sizes[width] + draw.choice(_GAPS) for stride, width in problem.strides.items()}


def _size(draw: random.Random, tiles: Sequence[int], limit: int, *, zero: bool) -> int:
    near_tiles = [near for tile in tiles for near in (tile - 1, tile, tile + 1) if 1 <= near <= limit]
    choices = [[0, 1] if zero else [1], _primes(limit), near_tiles, range(1, limit + 1)]
    weights = [1, 4, 4, 2]
    pool = draw.choices(choices, weights)[0]
    return draw.choice(pool or [1])


def _primes(limit: int) -> list[int]:
    # Sizes reach a few thousand at most: trial division is fast enough, and only the larger ones tell anything.
    return [n for n in range(max(2, limit // 8), limit + 1) if all(n % d for d in range(2, int(n**0.5) + 1))]
