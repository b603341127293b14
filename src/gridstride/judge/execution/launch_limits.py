"""What hardware would not give a launch that has run here: registers, and room on the device heap."""

from __future__ import annotations

import math
from typing import Any

from gridstride.judge.verdict import Finding
from gridstride.protocol import DeviceProperties
from gridstride.virtual.chips import chip
from gridstride.virtual.machine.device_options import HEAP

_SURELY = 1.25  # an estimate of registers this far above what a block may have is taken for a fact


def too_many_registers(run: Any, block: tuple[int, ...], gpu: DeviceProperties) -> tuple[Finding, ...]:
    """Hardware refuses a launch whose block does not fit the registers of a multiprocessor: the one that has run, or
    the `block` of the timed size. An estimate is believed when it is far beyond: the assembler may find a way to do
    with somewhat fewer.
    """
    held, threads = run.occupancy, max(math.prod(run.block), math.prod(block))
    allowed = gpu.registers_per_multiprocessor // (-(-threads // gpu.warp_size) * gpu.warp_size)
    if held.registers <= allowed * (_SURELY if held.estimated else 1):
        return ()
    about = "about " if held.estimated else ""
    message = (
        f"{about}{held.registers} registers per thread × {threads} threads are above the "
        f"{gpu.registers_per_multiprocessor:,} of a multiprocessor: take a smaller block, or say "
        f"__launch_bounds__({threads}) so that the compiler keeps to {allowed} (and spills the rest)"
    )
    return (Finding("launch", message),)


def too_large_a_heap(run: Any, grid: tuple[int, ...], gpu: DeviceProperties) -> tuple[Finding, ...]:
    """malloc of a kernel whose blocks ask for more than there is when as many are on the GPU as it holds. Said where
    each thread asks once at most, and so has it all at a time: of more requests some may have been given back.
    """
    use = run.heap
    if use is None or not 0 < use.allocations <= math.prod(run.grid) * math.prod(run.block):
        return ()
    resident = chip(run.chip).resident_blocks(math.prod(run.block), run.shared, run.occupancy.registers)
    per_block, blocks = use.requested / math.prod(run.grid), min(math.prod(grid), resident * gpu.multiprocessors)
    if per_block * blocks <= HEAP:
        return ()
    message = (
        f"malloc: a block asks for {per_block:,.0f} bytes, and at the timed size {blocks:,} blocks are on the GPU at a "
        f"time: that is more than the {HEAP:,} bytes of the device heap (cudaLimitMallocHeapSize), and malloc gives "
        "null to the rest: take shared memory, an array of the thread's own, or fewer blocks"
    )
    return (Finding("out_of_memory", message),)
