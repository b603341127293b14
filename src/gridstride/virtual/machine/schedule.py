"""In which order a launch does what CUDA leaves open: which block starts when, how many at a time, which warp is first.

CUDA promises nothing about the order in which blocks start, nor that a block makes progress before it has started; only
the blocks of a cooperative grid, and of one cluster, are on the GPU together.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import Any, Final

ORDERS: Final = ("in_turn", "reversed", "seeded")


def _is_integer(value: object, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


@dataclass(frozen=True, slots=True)
class Schedule:
    """An order of execution; a launch that has one runs on one worker, so that it is the same each time.

    `blocks`: the order in which blocks start, and `warps`: that in which the warps of a block have their first turn:
    "in_turn" by index, "reversed", or "seeded", a permutation drawn from `seed`. `resident`: how many blocks may be on
    the GPU at a time, by default as many as the chip holds; with 1 each runs to its end before the next one starts.
    Blocks of a cooperative grid are all resident whatever it says, and those of a cluster are together. `lanes`: the
    order in which the lanes of a warp do one atomic instruction, "in_turn" or "reversed". With "reversed" what else PTX
    leaves open is done in another way than hardware usually does it: elect.sync elects the highest lane, %warpid counts
    from the last slot down, discard.L2 loses what lies there, and mbarrier.try_wait fails now and then; in
    a cooperative grid all warps but a block's first start late, and who stores a flag lets others pass. `in_step`: as
    many blocks as can be are on the GPU from the start, and behind each atomic, fence or ordered access of a warp all
    others come as far, where the observed build runs. `patience`: so many rounds in all of loops that wait and may give
    up go by before anybody else has a turn: whoever gives up before that does so here. ValueError for other words.
    """

    blocks: str = "in_turn"
    warps: str = "in_turn"
    resident: int | None = None
    lanes: str = "in_turn"
    in_step: bool = False
    seed: int = 0
    patience: int = 0

    def __post_init__(self) -> None:
        for name, choices in (("blocks", ORDERS), ("warps", ORDERS), ("lanes", ORDERS[:2])):
            if getattr(self, name) not in choices:
                raise ValueError(f"Schedule: {name} is one of {', '.join(choices)}, not {getattr(self, name)!r}")
        if self.resident is not None and not _is_integer(self.resident, 1):
            raise ValueError(f"Schedule: resident is a number of blocks, 1 or more, or None, not {self.resident!r}")
        for name in ("seed", "patience"):
            if not _is_integer(getattr(self, name), 0):
                raise ValueError(f"Schedule: {name} is a whole number, 0 or more, not {getattr(self, name)!r}")

    def __str__(self) -> str:
        """The order in words, as a verdict says it: "blocks in turn, one at a time"."""
        words = {"in_turn": "in turn", "reversed": "in reverse", "seeded": f"in the order of seed {self.seed}"}
        held = {None: "", 1: ", one at a time"}.get(self.resident, f", {self.resident} at a time")
        lanes = ", lanes in reverse" if self.lanes == "reversed" else ""
        warps = f", warps {words[self.warps]}" if self.warps != self.blocks else ""
        subject = "blocks and warps" if self.warps == self.blocks else "blocks"
        step = ", in step" if self.in_step else ""
        return f"{subject} {words[self.blocks]}{held}{step}{warps}{lanes}"

    @property
    def interleaves(self) -> bool:
        """Whether blocks that need not wait give way to one another."""
        return self.in_step or self.lanes == "reversed"


IN_TURN = Schedule()
REVERSED = Schedule("reversed", "reversed", lanes="reversed")
IN_STEP = replace(IN_TURN, in_step=True)


def seeded(seed: int) -> Schedule:
    """Blocks and warps in orders drawn from a seed; lanes in reverse where it is odd."""
    return Schedule("seeded", "seeded", lanes=("in_turn", "reversed")[seed % 2], seed=seed)


@dataclass(frozen=True, slots=True)
class AffinePermutation:
    """A permutation of 0 to count - 1 that machine code works out: the i-th is (step · i + first) mod count, counted
    from the other end where `back` is 1.
    """

    step: int = 1
    first: int = 0
    back: int = 0


_PRODUCT = 1 << 63
"""step · i stays below this, so that 64 bits hold it."""


def turns(order: str, count: int, *, seed: int, what: str) -> AffinePermutation:
    """The permutation of `count` blocks or warps (`what`: each draws its own)."""
    if order != "seeded":
        return AffinePermutation(back=int(order == "reversed"))
    draw = random.Random(f"{what} {seed} {count}")
    most = max(1, min(count - 1, _PRODUCT // count))
    step = next(s for s in (draw.randint(1, most) for _ in range(1 << 20)) if math.gcd(s, count) == 1)
    return AffinePermutation(step, draw.randrange(count), draw.randrange(2))


def fill(record: Any, schedule: Schedule, blocks: int, warps: int) -> None:
    """Tells a launch its order; `blocks` counts clusters where blocks run in clusters, `warps` those of a block."""
    of_blocks = turns(schedule.blocks, blocks, seed=schedule.seed, what="blocks")
    of_warps = turns(schedule.warps, warps, seed=schedule.seed, what="warps")
    for name in ("step", "first", "back"):
        record[f"block_{name}"], record[f"warp_{name}"] = getattr(of_blocks, name), getattr(of_warps, name)
    record["warp_inverse"] = pow(of_warps.step, -1, warps) if warps > 1 else 0
    record["lanes_back"], record["in_step"] = schedule.lanes == "reversed", schedule.in_step
    record["patience"] = schedule.patience


def last_started(schedule: Schedule, blocks: int) -> int:
    """The block, or cluster, that starts when all others have."""
    order = turns(schedule.blocks, blocks, seed=schedule.seed, what="blocks")
    last = (order.step * (blocks - 1) + order.first) % blocks
    return blocks - 1 - last if order.back else last
