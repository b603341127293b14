"""How a product of few rows is cut over blocks, warps and clusters, and which rung does it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import dataclass

STEP = 32  # columns: what a warp multiplies at a time
MOST_ROWS = 128
DEPENDENT, WARPGROUP, PUSH = "06_dependent", "07_warpgroup", "08_push"  # the rungs that are cut by macros
_LETTERS = {DEPENDENT: "m", WARPGROUP: "", PUSH: "p"}
_SHARED = 227 * 1024 - 1024  # bytes of a block on Hopper, less what barriers take
_CLUSTER = 8  # blocks, the most that every chip with clusters has
_SPLITS = (1, 2, 4, 8)
_TILE = 16  # weight rows of a warp
_GROUP = 4  # warps that multiply together
_MOST_WARPS = 16
_EIGHT = 2 * _GROUP
_PUSHED_ROWS = 32  # of x, the most for which 08 has registers: a warp holds its weights and the sums of all rows
_HELD = 2048  # columns of all warps together that 08 holds in registers, if two blocks are to lie side by side
_WHOLE, _PART = 512, 256  # columns of a block up to which slots divide them evenly; slots of more columns are so wide


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """Macros of a rung: `warps` of 16 weight rows, `rows` of x, K in `splits`, rings of `depth` slots of `columns`."""

    rung: str
    warps: int
    rows: int
    splits: int
    columns: int
    depth: int
    share: int = 1  # blocks that fetch the same part of x together

    @property
    def macros(self) -> dict[str, int]:
        """As the kernel has them."""
        values = {"WARPS": self.warps, "ROWS": self.rows, "SPLITS": self.splits, "COLUMNS": self.columns,
                 "DEPTH": self.depth}  # fmt: skip
        return values | {"SHARE": self.share} if self.rung == PUSH else values

    @property
    def label(self) -> str:
        """Splits, warps, columns and depth in one word; m for mma.sync (06), p for pushed sums (08), x2: x shared."""
        shared = f"x{self.share}" if self.share > 1 else ""
        return f"{self.splits}s{self.warps}w{self.columns}c{self.depth}d{_LETTERS[self.rung]}{shared}"

    @property
    def threads(self) -> int:
        """Of a block: in 08, two warps fetch x."""
        return 32 * (self.warps + 2 * (self.rung == PUSH))

    @property
    def tall(self) -> int:
        """Weight rows of a block."""
        return _TILE * self.warps

    def blocks(self, n: int) -> int:
        """Of the grid, for n weight rows: whole clusters."""
        return -(-n // (self.tall * self.share)) * self.share * self.splits

    def chunk(self, k: int) -> int:
        """Columns of a block, the most that one has."""
        return -(-k // STEP // self.splits) * STEP

    def shared(self, k: int) -> int:
        """Bytes of dynamic shared memory: the ring, the sums beside it (08) or later in its place, and x."""
        ring = self.depth * self.tall * (self.columns + 8) * 2
        x = self.rows * (self.chunk(k) + 8) * 2
        if self.rung == PUSH:
            units = -(-self.warps * self.rows // 8 // self.splits) * self.splits
            return ring + 512 * units + x
        sums = self.rows * (self.tall + 4) * 4
        return -(-max(ring, sums) // 128) * 128 + x

    def late(self, k: int) -> int:
        """Bytes that a block moves once x is there: x, and the sums that the cluster adds up."""
        return self.rows * (2 * self.chunk(k) + (4 * self.tall if self.splits > 1 else 0))


@dataclass(frozen=True, slots=True, kw_only=True)
class TilingRule:
    """How every product of so many rows is cut, whatever its shape.

    `tall` 0: one block on each multiprocessor where the weights are few, in the splits that move the fewest bytes once
    x is there. Else the fewest splits that leave a block at most so many columns, and the first number of `warps`
    that makes no more blocks than there are multiprocessors, or the last.
    """

    rung: str
    tall: int = 0
    slots: int = 1  # in which a block's columns come, at least
    share: int = 1  # of the blocks that want the same part of x, where there is room in a cluster
    warps: tuple[int, ...] = (_EIGHT,)


RULES: tuple[tuple[int, TilingRule], ...] = (
    (16, TilingRule(rung=PUSH, tall=256, slots=1, warps=(_GROUP, _EIGHT))),
    (_PUSHED_ROWS, TilingRule(rung=PUSH, tall=256, slots=2, warps=(_GROUP, _EIGHT))),
    (MOST_ROWS, TilingRule(rung=WARPGROUP, tall=512, slots=2)),
)
"""(rows of x up to which, rule): up to 32 rows, by bench/results/skinny_gemm_h200.json, as fast as any in chains of a
layer's products (there with eight warps for all), and within 8 % of the best cut of each product. Beyond, cuBLAS is
faster. A later rule stands in where K is too long for one."""
CANDIDATES = (
    *(rule for _, rule in RULES),
    TilingRule(rung=DEPENDENT),
    *(TilingRule(rung=PUSH, tall=256, slots=s, share=e, warps=(_GROUP, _EIGHT)) for s in (1, 2) for e in (1, 2)),
    *(TilingRule(rung=PUSH, tall=256, slots=s) for s in (1, 2)),
    TilingRule(rung=PUSH, tall=512, slots=2),
    TilingRule(rung=PUSH),
)
"""What bench/skinny_gemm_h200.py times against each other."""


def cut(m: int, n: int, k: int, *, multiprocessors: int) -> Tiling | None:
    """What x [m, k] against n weight rows is cut into; None where nothing fits."""
    cuts = (by_rule(rule, m, n, k, multiprocessors=multiprocessors) for most, rule in RULES if m <= most)
    return next((candidate for candidate in cuts if candidate), None)


@functools.cache
def by_rule(rule: TilingRule, m: int, n: int, k: int, *, multiprocessors: int) -> Tiling | None:
    """The cut that a rule makes, with the deepest ring that fits; None where none does, or for 08 above 32 rows."""
    if not 0 < m <= (_PUSHED_ROWS if rule.rung == PUSH else MOST_ROWS) or k < STEP or k % STEP or n < 1:
        return None
    rows = 8 << (-(-m // 8) - 1).bit_length()
    splits = [split for split in _SPLITS if split * STEP <= k]
    shapes = _tall(rule, splits, n, k, multiprocessors) if rule.tall else _spread(splits, n, multiprocessors)
    candidates = [candidate for s, warps in shapes if (candidate := _deepest(rule, rows, warps, s, k))]
    if rule.tall:
        return candidates[0] if candidates else None
    waves = {candidate: -(-candidate.blocks(n) // multiprocessors) for candidate in candidates}
    return min(candidates, key=lambda candidate: waves[candidate] * candidate.late(k), default=None)


def _spread(splits: list[int], n: int, multiprocessors: int) -> Iterator[tuple[int, int]]:
    """(splits, warps): as many warps as make one block of every multiprocessor, or eight."""
    for split in splits:
        alone = -(-n * split // (multiprocessors * _TILE * _GROUP)) * _GROUP
        yield from ((split, warps) for warps in sorted({alone, _EIGHT} if alone <= _MOST_WARPS else {_EIGHT}))


def _tall(rule: TilingRule, splits: list[int], n: int, k: int, multiprocessors: int) -> Iterator[tuple[int, int]]:
    """(splits, warps), the one with the fewest splits first, of those with at most so many columns; else the most."""
    fitting = [split for split in splits if -(-k // STEP // split) * STEP <= rule.tall]
    for split in fitting or splits[-1:]:
        on_chip = (warps for warps in rule.warps if -(-n // (_TILE * warps)) * split <= multiprocessors)
        yield split, next(on_chip, rule.warps[-1])


def _deepest(rule: TilingRule, rows: int, warps: int, splits: int, k: int) -> Tiling | None:
    """Slots of equal width, as many as fit into shared memory."""
    chunk = -(-k // STEP // splits) * STEP
    most = _HELD // warps if rule.rung == PUSH else _WHOLE
    slots = max(rule.slots, -(-chunk // most))
    columns = -(-chunk // STEP // slots) * STEP if chunk <= _WHOLE else min(_PART, most // STEP * STEP)
    share = max(1, min(rule.share, _CLUSTER // splits))
    for depth in range(-(-chunk // columns), 0, -1):
        deepest = Tiling(
            rung=rule.rung, warps=warps, rows=rows, splits=splits, columns=columns, depth=depth, share=share
        )
        if deepest.shared(k) <= _SHARED:
            return deepest
    return None
