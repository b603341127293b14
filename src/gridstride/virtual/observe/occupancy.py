"""Occupancy: how many warps of a launch a multiprocessor holds at a time, and what keeps it from holding more."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gridstride.virtual.chips import Chip
from gridstride.virtual.observe.registers import Registers

Dim3 = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Occupancy:
    """`blocks` and `warps` per multiprocessor, `share` of the warps that it could hold; `limiter` is what there is too
    little of: registers, shared memory, threads or blocks, "grid" where the launch is too small to fill the chip.
    `estimated`: no ptxas said how many registers a thread takes.
    """

    blocks: int
    warps: int
    share: float
    limiter: str
    registers: int
    shared: int
    estimated: bool

    @property
    def refused(self) -> bool:
        """Whether hardware does not launch such a block at all; an estimate of registers does not say so."""
        return not self.blocks and not self.estimated

    def __str__(self) -> str:
        if self.refused:
            return (
                f"hardware refuses this launch: one block takes more {self.limiter} than a multiprocessor has, at "
                f"{self.registers} registers per thread and {self.shared} bytes shared; take smaller blocks, or "
                "promise the compiler their size with __launch_bounds__"
            )
        about = " (estimated)" if self.estimated else ""
        held = f"{_count(self.blocks, 'block')}, {_count(self.warps, 'warp')} per multiprocessor"
        return (
            f"occupancy {100 * self.share:.0f} %: {held}, limited by {self.limiter}; {self.registers} registers per "
            f"thread{about}, {self.shared} bytes shared per block"
        )

    def json(self) -> dict[str, Any]:
        return asdict(self)


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def occupancy(chip: Chip, grid: Dim3, block: Dim3, shared: int, registers: Registers) -> Occupancy:
    """Of a launch with `shared` bytes per block, static and dynamic together."""
    p = chip.properties
    threads = block[0] * block[1] * block[2]
    warps = -(-threads // p.warp_size)
    limits = chip.block_limits(threads, shared, registers.count)
    # Of equal limits the one that a change of the kernel can move is named.
    order = ("registers", "shared memory", "threads", "blocks")
    limiter = min((name for name in order if name in limits), key=lambda name: limits[name])
    fits = limits[limiter]
    grid_blocks = -(-grid[0] * grid[1] * grid[2] // p.multiprocessors)
    blocks, limiter = (grid_blocks, "grid") if grid_blocks < fits else (fits, limiter)
    most = p.max_threads_per_multiprocessor // p.warp_size
    return Occupancy(
        blocks, blocks * warps, blocks * warps / most, limiter, registers.count, shared, registers.estimated
    )
