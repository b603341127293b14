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
_HELD = 2048  # columns of all warps together that 08 holds in registers, if two blocks are to lie side by side
_WHOLE, _PART = 512, 256  # columns of a block up to which slots divide them evenly; slots of more columns are so wide


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
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
        found = {"WARPS": self.warps, "ROWS": self.rows, "SPLITS": self.splits, "COLUMNS": self.columns,
                 "DEPTH": self.depth}  # fmt: skip
        return found | {"SHARE": self.share} if self.rung == PUSH else found

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
class Rule:
    """How every product of so many rows is cut, whatever its shape.

    `tall` 0: one block on each multiprocessor where the weights are few, in the splits that move the fewest bytes once
    x is there. Else eight warps, in the fewest splits that leave a block at most so many columns.
    """

    rung: str
    tall: int = 0
    slots: int = 1  # in which a block's columns come, at least
    share: int = 1  # of the blocks that want the same part of x, where there is room in a cluster


RULES: tuple[tuple[int, Rule], ...] = ((16, Rule(rung=DEPENDENT)), (MOST_ROWS, Rule(rung=WARPGROUP, tall=512, slots=2)))
"""(rows of x up to which, rule): within 5 % of the best cut that bench/results/skinny_gemm_h200.json has for a layer's
four matrices and at most 32 rows, beyond which cuBLAS is faster anyway. 08_push has not been timed."""
CANDIDATES = (
    *(rule for _, rule in RULES),
    *(Rule(rung=PUSH, tall=t, slots=s, share=e) for t in (0, 256) for s in (1, 2) for e in (1, 2)),
    *(Rule(rung=PUSH, tall=512, slots=2, share=e) for e in (1, 2)),
)
"""What bench/skinny_gemm_h200.py times against each other."""


def cut(m: int, n: int, k: int, *, multiprocessors: int) -> Cut | None:
    """What x [m, k] against n weight rows is cut into; None where nothing fits."""
    if not 0 < m <= MOST_ROWS:
        return None
    rule = next(rule for most, rule in RULES if m <= most)
    return by_rule(rule, m, n, k, multiprocessors=multiprocessors)


@functools.cache
def by_rule(rule: Rule, m: int, n: int, k: int, *, multiprocessors: int) -> Cut | None:
    """The cut that a rule makes, with the deepest ring that fits; None where none does."""
    if not 0 < m <= MOST_ROWS or k % STEP or not n:
        return None
    rows = 8 << (-(-m // 8) - 1).bit_length()
    splits = [each for each in _SPLITS if each * STEP <= k]
    shapes = _tall(splits, k, rule.tall) if rule.tall else _spread(splits, n, multiprocessors)
    found = [each for s, warps in shapes if (each := _deepest(rule, rows, warps, s, k))]
    if rule.tall:
        return found[0] if found else None
    waves = {each: -(-each.blocks(n) // multiprocessors) for each in found}
    return min(found, key=lambda each: waves[each] * each.late(k), default=None)


def _spread(splits: list[int], n: int, multiprocessors: int) -> Iterator[tuple[int, int]]:
    """(splits, warps): as many warps as make one block of every multiprocessor, or eight."""
    for each in splits:
        alone = -(-n * each // (multiprocessors * _TILE * _GROUP)) * _GROUP
        yield from ((each, warps) for warps in sorted({alone, 2 * _GROUP} if alone <= _MOST_WARPS else {2 * _GROUP}))


def _tall(splits: list[int], k: int, most: int) -> Iterator[tuple[int, int]]:
    """(splits, warps), the one with the fewest splits first, of those with at most so many columns; else the most."""
    fitting = [each for each in splits if -(-k // STEP // each) * STEP <= most]
    yield from ((each, 2 * _GROUP) for each in fitting or splits[-1:])


def _deepest(rule: Rule, rows: int, warps: int, splits: int, k: int) -> Cut | None:
    """Slots of equal width, as many as fit into shared memory."""
    chunk = -(-k // STEP // splits) * STEP
    most = _HELD // warps if rule.rung == PUSH else _WHOLE
    slots = max(rule.slots, -(-chunk // most))
    columns = -(-chunk // STEP // slots) * STEP if chunk <= _WHOLE else min(_PART, most // STEP * STEP)
    share = max(1, min(rule.share, _CLUSTER // splits))
    for depth in range(-(-chunk // columns), 0, -1):
        found = Cut(rung=rule.rung, warps=warps, rows=rows, splits=splits, columns=columns, depth=depth, share=share)
        if found.shared(k) <= _SHARED:
            return found
    return None
