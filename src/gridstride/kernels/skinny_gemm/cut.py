"""How a product of few rows is cut over blocks, warps and clusters."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import asdict, dataclass

STEP = 32  # columns: what a warp multiplies at a time
MOST_ROWS = 128
_WHOLE, _PART = 512, 256  # columns of a slot: all that a block has or half of them, up to so many; else so many
_SHARED = 227 * 1024 - 1024  # bytes of a block on Hopper, less what barriers take
_SPLITS = (1, 2, 4, 8)
_TILE = 16  # weight rows of a warp
_GROUP = 4  # warps that multiply together
_MOST_WARPS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Macros of the last rungs: `warps` of 16 weight rows, `rows` of x, K in `splits`, rings of `depth` x `columns`."""

    warps: int
    rows: int
    splits: int
    columns: int
    depth: int

    @property
    def macros(self) -> dict[str, int]:
        """As the kernel has them."""
        return {name.upper(): value for name, value in asdict(self).items()}

    @property
    def tall(self) -> int:
        """Weight rows of a block."""
        return _TILE * self.warps

    def blocks(self, n: int) -> int:
        """Of the grid, for n weight rows."""
        return -(-n // self.tall) * self.splits

    def chunk(self, k: int) -> int:
        """Columns of a block, the most that one has."""
        return -(-k // STEP // self.splits) * STEP

    def shared(self, k: int) -> int:
        """Bytes of dynamic shared memory: the ring, or the sums that lie there later, and x."""
        ring = self.depth * self.tall * (self.columns + 8) * 2
        sums = self.rows * (self.tall + 4) * 4
        return -(-max(ring, sums) // 128) * 128 + self.rows * (self.chunk(k) + 8) * 2

    def late(self, k: int) -> int:
        """Bytes that a block moves once x is there: x, and the sums that the cluster adds up."""
        return self.rows * (2 * self.chunk(k) + (4 * self.tall if self.splits > 1 else 0))


def cut(m: int, n: int, k: int, *, multiprocessors: int) -> Cut | None:
    """The cut of x [m, k] against n weight rows with the fewest bytes to move once x is there; None where none fits."""
    return next(iter(cuts(m, n, k, multiprocessors=multiprocessors)), None)


@functools.cache
def cuts(m: int, n: int, k: int, *, multiprocessors: int) -> tuple[Cut, ...]:
    """All cuts that fit, the best first by what they move late: a model, not a measurement.

    Weights are asked for beforehand and cost the same however they are cut; blocks that find no multiprocessor of their
    own come after the others.
    """
    if not 0 < m <= MOST_ROWS or k % STEP or not n:
        return ()
    rows = 8 << (-(-m // 8) - 1).bit_length()
    fitting = (each for each in _cuts(rows, n, k, multiprocessors) if each.shared(k) <= _SHARED)
    return tuple(sorted(fitting, key=lambda each: _cost(each, n, k, multiprocessors)))


def _cost(each: Cut, n: int, k: int, multiprocessors: int) -> tuple[int, int, int]:
    """Bytes that move late on a multiprocessor, its blocks one after the other; of equals, large rings of few slots."""
    waves = -(-each.blocks(n) // multiprocessors)
    return waves * each.late(k), -each.columns * each.depth, each.depth


def _cuts(rows: int, n: int, k: int, multiprocessors: int) -> Iterator[Cut]:
    for splits in _SPLITS:
        if splits * STEP > k:
            return
        chunk = -(-k // STEP // splits) * STEP
        half = -(-chunk // (2 * STEP)) * STEP
        alone = -(-n * splits // (multiprocessors * _TILE * _GROUP)) * _GROUP  # one block on every multiprocessor
        for warps in sorted({alone, 2 * _GROUP} if alone <= _MOST_WARPS else {2 * _GROUP}):
            for columns in dict.fromkeys((chunk, half) if chunk <= _WHOLE else (_PART,)):
                for depth in range(1, -(-chunk // columns) + 1):
                    yield Cut(warps=warps, rows=rows, splits=splits, columns=columns, depth=depth)
