"""Where lanes may wait while a block runs, which registers then need masks, and how each register varies over lanes.

The three depend on one another: a branch on a varying predicate makes lanes wait; a register that waiting lanes still
need must be written under the mask, so it varies; what varies makes more branches diverge. They are solved together,
starting from "everything is uniform" and giving that up where it fails.

Groups of lanes run in the order of their blocks (reverse post-order), the lowest first, so lanes meet again at the
earliest place their paths join. `frontier[b]` is the set of blocks (a bit mask over order) at which other lanes of the
warp may be waiting while block b runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from gridstride.virtual.lowering.analysis.affine import Affine
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.analysis.control_flow import Code
from gridstride.virtual.lowering.analysis.lane_frontiers import full_warp_blocks, grow_frontiers, kept_registers
from gridstride.virtual.lowering.analysis.register_shapes import RegisterShapes


@dataclass(slots=True)
class Facts:
    """Results of the analysis. `shape[r]` is a Affine without scalars, or None where r varies freely."""

    shape: dict[str, Affine | None]
    frontier: list[int]
    divergent: list[bool]
    kept_registers: list[set[str]]
    """Per block, the registers that lanes waiting elsewhere still need: writes to them are blended."""
    full_warp: list[bool]
    """Per block, whether all 32 lanes are certainly active."""


def analyse(code: Code, block_shape: BlockShape) -> Facts:
    """Solves for frontier, kept registers and shapes together."""
    shapes = RegisterShapes(code, block_shape)
    divergent = [False] * len(code.blocks)
    frontier, waiters = [0] * len(code.blocks), [0] * len(code.blocks)
    while True:
        grow_frontiers(code, divergent, frontier, waiters)
        kept_by_block = kept_registers(code, frontier)
        shapes.solve(kept_by_block)
        now = [d or shapes.diverges(b) for b, d in enumerate(divergent)]
        if now == divergent and not shapes.changed:
            full_warp = full_warp_blocks(code, frontier, divergent, code.entry and block_shape.full)
            return Facts(shapes.of, frontier, divergent, kept_by_block, full_warp)
        divergent = now
