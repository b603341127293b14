"""Which blocks of a large grid are observed, and in which of those races within a warp are looked for.

A grid's counters want blocks that are spread evenly and in no one column. Races between blocks want pairs: neighbours,
and blocks that are 1,024 apart because a slot is taken modulo that. Neighbours in one place, and blocks a power of two
apart all over the grid, are as far apart as any number up to the product of both.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

from gridstride.protocol import Dim3
from gridstride.virtual.machine.schedule import IN_TURN, Schedule, last_started

ALL_OBSERVED = 128
"""Blocks up to which every one is observed; of larger grids about this many are."""


@dataclass(frozen=True, slots=True)
class ObservedBlocks:
    """Every `step`-th of a grid's `blocks`, and `near` neighbours from block `first` on. Of clusters whole ones are."""

    blocks: int
    step: int = 1
    first: int = 0
    near: int = 0

    @property
    def count(self) -> int:
        """How many are observed."""
        twice = len(range(-self.first % self.step, self.near, self.step))
        return -(-self.blocks // self.step) + self.near - twice

    def __contains__(self, block: int) -> bool:
        return block % self.step == 0 or self.first <= block < self.first + self.near


def evenly(grid: Dim3, team: int = 1) -> ObservedBlocks:
    """Blocks for counters: a step that is never a multiple of a row, or one column of blocks would stand for all.

    Where clusters of `team` blocks are counted whole, the grid is one of clusters.
    """
    blocks = math.prod(grid)
    step = -(-blocks * team // ALL_OBSERVED)
    while step > 1 and math.gcd(step, grid[0] * grid[1]) > 1:
        step += 1
    return ObservedBlocks(blocks, step)


def in_pairs(blocks: int, schedule: Schedule, team: int = 1) -> ObservedBlocks:
    """Blocks for races: half of them neighbours, among them the one that starts last, and half a power of two apart."""
    if blocks * team <= ALL_OBSERVED:
        return ObservedBlocks(blocks)
    near = max(1, ALL_OBSERVED // 2 // team)
    step = 1 << (-(-blocks // near) - 1).bit_length()
    return ObservedBlocks(blocks, step, min(last_started(schedule, blocks), blocks - near), near)


def lane_watched(schedule: Schedule, observed: ObservedBlocks) -> tuple[int, int]:
    """The two blocks in which races within a warp are looked for where there is no seed: what the warps of one block do
    among themselves those of the next do too, and looking lane by lane takes several times as long as all else. In turn
    the first and the last one, in other orders the one that starts last, which often does what is left to do, and any.
    """
    end, last = (observed.blocks - 1) // observed.step * observed.step, last_started(schedule, observed.blocks)
    last = last if last in observed else end
    if schedule == IN_TURN:
        return 0, last
    draw = random.Random(f"lanes {schedule} {observed.blocks}")
    if observed.near:
        return last, draw.randrange(observed.first, observed.first + observed.near)
    return last, draw.randrange(0, end + 1, observed.step)
