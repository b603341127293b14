"""The sizes that a problem's cases are drawn from, and what a launch makes of them: its tiles, its blocks."""

from __future__ import annotations

import bisect
import itertools
import random
from collections.abc import Iterable, Mapping
from math import prod

import numpy as np

from gridstride.judge.header import MULTIPROCESSORS, SymbolicLaunch
from gridstride.judge.problem import Array, Problem
from gridstride.judge.symbols import ExpressionError, names

WARP = 32
VECTOR = 4  # elements that kernels read at once, where sizes and addresses allow
SMALL = 2 * VECTOR - 1  # every size up to here makes a small case, of which each of a problem's own kinds of data has
SMALL_CASES = 2
LONGEST_PERIOD = 128  # elements: the widest tile in common use; residues are told apart up to here
TAILS = (1, 2, 3, -1)  # elements past (or short of) whole tiles
WIDTHS = (1 << 12, 1 << 15, 1 << 16, 1 << 20)  # a block's shared memory, short, unsigned short, 1,024 blocks of 1,024
AREA = 1 << 20  # elements of two extents together, where neither alone is too large for anything
BLOCKS = 1 << 16  # what an unsigned short does not count, and more than a grid's y and z may hold
FLOAT_WIDTH = 1 << 24  # above it a float does not hold every whole number
ELONGATED = 4  # one extent over another
MOST_OF_SEVERAL_TURNS = 1 << 21  # product of a long size and of one that blocks take in several turns
_DIVISORS = 256  # of larger ones there are as many
_SMS = 132  # multiprocessors of the chip that a launch is timed on
_MANY = 1 << 20  # multiprocessors, so that a grid is not bounded by them


def least_near(most: int) -> int:
    """From where on a size is near its largest; small ones are it, since kernels have room for so many and no more."""
    return most - most // 16 if most > 2 * WARP else most


def free_sizes(problem: Problem) -> dict[str, int]:
    """Sizes that are drawn by themselves, with the largest of each; strides follow the width of their rows."""
    return {name: limit for name, limit in problem.largest.items() if name not in problem.strides}


def size_classes(limit: int, tiles: Iterable[int]) -> dict[str, Array]:
    """Kinds of sizes that kernels get wrong, with the sizes up to `limit` of each; kinds without any are left out.

    Those of residues hold a whole warp besides where `limit` allows: a tail shows behind something whole.
    """
    n = np.arange(1, limit + 1)
    classes = {"1": n == 1, "2 to 7": (n >= 2) & (n < 8), f"8 to {WARP - 1}": (n >= 8) & (n < WARP)}
    bulk = n > min(WARP, limit // 4)
    for residue in range(8):
        classes[f"{residue} mod 8"] = (n % 8 == residue) & bulk
    for period in (16, 32, 64, LONGEST_PERIOD):
        classes[f"{period // 2} mod {period}"] = (n % period == period // 2) & bulk
    period = next((p for p in (LONGEST_PERIOD, 64, WARP) if 2 * p <= limit), 0)
    if period:
        classes[f"0 mod {period}"] = n % period == 0
        for tail in TAILS:
            classes[f"{tail} mod {period}"] = (n % period == tail % period) & (n > period // 2)
    for shift, what in ((-1, "one below a tile"), (0, "a tile"), (1, "one above a tile")):
        classes[what] = np.isin(n, [tile + shift for tile in tiles])
    classes["the largest quarter"] = n > 3 * limit // 4
    return {name: n[which] for name, which in classes.items() if which.any()}


def rounded_down(limit: int) -> list[int]:
    """Sizes up to `limit` that, times their reciprocal, are below 1 in float32: who divides by it and cuts what is left
    of the point off has one too few at every multiple of such a size that is rounded alike.
    """
    n = np.arange(1, limit + 1, dtype=np.float32)
    return [int(count) for count in n[n * (1 / n) < 1]]


def small_classes(limit: int) -> dict[str, Array]:
    """Those of `size_classes` that hold less than a warp: nothing else should be small beside them."""
    classes = size_classes(limit, ())
    return {name: classes[name] for name in ("1", "2 to 7", f"8 to {WARP - 1}") if name in classes}


def elongated(problem: Problem) -> list[tuple[str, str]]:
    """Pairs of extents of one array, in both orders, that may differ by enough to be told apart."""
    limits = free_sizes(problem)
    shapes = [[e for e in p.shape if e in limits] for p in problem.parameters]
    pairs = {pair: None for shape in shapes for pair in itertools.permutations(dict.fromkeys(shape), 2)}
    return [(a, b) for a, b in pairs if limits[a] > ELONGATED * 2]


def widths(most: int, *, float_index: bool = False) -> list[int]:
    """The thresholds that a size of up to `most` passes; one that goes far goes further where an index is a float."""
    far = float_index and most > WIDTHS[-1]
    return [*(width for width in WIDTHS if width < most), *([FLOAT_WIDTH] if far else [])]


def quotients(problem: Problem) -> dict[tuple[str, str], list[int]]:
    """Pairs of sizes of which one may be divided by the other, as of a row and the tables' length: the first goes to
    twice the second. With the sizes of the second that float32 has no good reciprocal of.
    """
    far = {name: max(limit, problem.widest.get(name, 0)) for name, limit in free_sizes(problem).items()}
    largest_divisors = {
        (a, b): rounded_down(min(far[a] // 2, far[b], _DIVISORS)) for a, b in itertools.permutations(far, 2)
    }
    return {pair: divisors for pair, divisors in largest_divisors.items() if divisors}


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


def launch_tiles(problem: Problem, launch: SymbolicLaunch) -> dict[str, int]:
    """By size, how many elements the launch covers with one block more; sizes that the grid does not hang on are left
    out, and so are those whose tile is 1 or beyond the largest size.
    """
    variables = frozenset[str]().union(*map(names, launch.grid))
    tiles = {}
    for name, limit in free_sizes(problem).items():
        tile = _step(problem, launch, name, limit) if name in variables else 0
        if 1 < tile < limit:
            tiles[name] = tile
    return tiles


def whole_tiles(problem: Problem, launch: SymbolicLaunch) -> dict[str, int]:
    """What every size is a multiple of in a launch without tails: the launch's own tile, or a whole warp where there is
    room for one. Empty where the launch has no tiles.
    """
    tiles = launch_tiles(problem, launch)
    other_sizes = {name: WARP if limit >= WARP else 1 for name, limit in free_sizes(problem).items()}
    return {**other_sizes, **tiles} if tiles else {}


def many_blocks(problem: Problem, launch: SymbolicLaunch) -> dict[str, int]:
    """The launch's tiles of sizes that go far enough for more than `BLOCKS` blocks."""
    tiles = launch_tiles(problem, launch)
    return {name: tile for name, tile in tiles.items() if BLOCKS * tile < problem.widest.get(name, 0)}


def crowded(problem: Problem, launch: SymbolicLaunch, *, tallies: bool) -> dict[str, int]:
    """Sizes near which a block on a chip of one multiprocessor has more of the work than in any other case, while where
    the problem is timed it has more than there is room for here: what a block counts, in 16 bits or in a float, then
    goes as far as it can. A grid that no size is in is the same on every chip. Threads that have nowhere to count
    together (`tallies`) count rounds of their own.
    """
    fixed = not frozenset[str]().union(*map(names, launch.grid)) & {*problem.sizes, MULTIPROCESSORS}
    sizes = {}
    for name, most in problem.widest.items():
        usual, single = (
            _share(problem, launch, {**problem.largest, name: most}, multiprocessors) for multiprocessors in (_SMS, 1)
        )
        if (fixed or single > usual) and _share(problem, launch, problem.timed, _SMS) > usual:
            sizes[name] = most if tallies else _many_rounds(problem, launch, name, most)
    return sizes


def _many_rounds(problem: Problem, launch: SymbolicLaunch, name: str, most: int) -> int:
    """The least size near which each block on one multiprocessor has more than an unsigned short counts; `most` where
    there is none.
    """
    smallest = {**dict.fromkeys(problem.largest, 1), MULTIPROCESSORS: 1}

    def counted(value: int) -> bool:
        return least_near(value) > BLOCKS * prod(launch.shape({**smallest, name: value}).grid)

    try:
        return min(bisect.bisect_left(range(most + 1), True, lo=1, key=counted), most)
    except ExpressionError:
        return most


def persistent(problem: Problem, launch: SymbolicLaunch) -> list[dict[str, int]]:
    """Sizes with each one that goes far, alone, near its largest, and so much of another that blocks of a grid for one
    multiprocessor take several turns: what one leaves for the next lies in the buffers of long rows, too.
    """
    rows = []
    for (wide, most), (other, limit) in itertools.product(problem.widest.items(), free_sizes(problem).items()):
        base_sizes = {**dict.fromkeys(problem.largest, 1), wide: most}
        turns = _turns(problem, launch, base_sizes, other, limit) if wide != other else 0
        if turns and turns * most <= MOST_OF_SEVERAL_TURNS:
            rows.append({name: {**base_sizes, other: turns}.get(name, 0) for name in problem.largest})
    strided = problem.strides.items()
    return [{**sizes, **{stride: sizes[width] for stride, width in strided}} for sizes in rows]


def several_turns(problem: Problem, launch: SymbolicLaunch) -> dict[str, int]:
    """Of each size that a grid for one multiprocessor stops to grow with, so much that each block takes nine turns:
    rows, whose other extents may be of any kind, and more of them than a ring has stages.
    """
    free, ones = free_sizes(problem), dict.fromkeys(problem.largest, 1)
    most = {name: max(limit, problem.widest.get(name, 0)) for name, limit in free.items() if len(free) > 1}
    turns = {name: _turns(problem, launch, ones, name, limit) for name, limit in most.items()}
    return {name: min(3 * size, most[name]) for name, size in turns.items() if size}


def _turns(problem: Problem, launch: SymbolicLaunch, sizes: Mapping[str, int], name: str, limit: int) -> int:
    """The least size at which a grid for one multiprocessor has stopped to grow, three times over; 0 where it grows on
    up to the limit, as on other chips.
    """

    def blocks(value: int, multiprocessors: int = 1) -> int:
        return prod(launch.shape({**sizes, name: value, MULTIPROCESSORS: multiprocessors}).grid)

    try:
        last = blocks(limit)
        end = bisect.bisect_left(range(limit + 1), last, lo=1, key=blocks)
        bounded = blocks(limit, _MANY) > last
    except ExpressionError:
        return 0
    return 3 * end if 3 * end <= limit and bounded else 0


def _share(problem: Problem, launch: SymbolicLaunch, sizes: Mapping[str, int], multiprocessors: int) -> float:
    """The work that there is for each block, in operations or bytes; 0 where the launch has no grid."""
    try:
        blocks = prod(launch.shape({**sizes, MULTIPROCESSORS: multiprocessors}).grid)
    except ExpressionError:
        return 0.0
    return max(problem.work(sizes)) / blocks if blocks else 0.0


def _step(problem: Problem, launch: SymbolicLaunch, name: str, limit: int) -> int:
    """The distance between the two first sizes at which the grid grows, or the first; 0 where it never does."""
    try:
        first = _grows(problem, launch, name, 1, limit)
        second = _grows(problem, launch, name, first, limit) if first else 0
    except ExpressionError:
        return 0
    return second - first if second else max(first - 1, 0)


def _grows(problem: Problem, launch: SymbolicLaunch, name: str, start: int, limit: int) -> int:
    """The least size above `start`, up to `limit`, whose grid is another; 0 where there is none."""

    def grid(value: int) -> object:
        return launch.shape({**problem.observed, name: value, MULTIPROCESSORS: _MANY}).grid

    start_grid = grid(start)
    reach = 1
    while start + reach < limit and grid(start + reach) == start_grid:
        reach *= 2
    low, high = start + reach // 2, min(start + reach, limit)
    if grid(high) == start_grid:
        return 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if grid(middle) == start_grid else (low, middle)
    return high


def middling(draw: random.Random, limit: int) -> int:
    """A size as most are: odd ones, and such as vectors or whole warps fit."""
    size = draw.randint(max(1, limit // 4), limit)
    multiple = draw.choice((1, 1, VECTOR, WARP))
    return max(size // multiple * multiple, 1)
