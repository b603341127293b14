"""Findings around wgmma in words: what was done, what the hardware makes of it, what was probably meant."""

from __future__ import annotations

from gridstride.protocol import Dim3
from gridstride.virtual.abi.wgmma_flights import BASE, ROW_LEAVES_PATTERN, STRIDE
from gridstride.virtual.machine.variant import KernelSite

_NAMES = {16: "no swizzle", 32: "the 32-byte swizzle", 64: "the 64-byte swizzle", 128: "the 128-byte swizzle"}


def message(kind: str, thread: Dim3, other_thread: Dim3, detail: int, site: KernelSite | None, line: int | None) -> str:
    """`line` is the other side's; `detail` what the finding carries as its address."""
    match kind:
        case "wgmma_operand":
            return (
                f"thread {thread} writes shared memory at offset {detail}, which the wgmma in line {line} may still be "
                "reading: wgmma.wait_group of its group must come first, and then a barrier to this thread"
            )
        case "wgmma_register":
            return (
                f"a register is used that the wgmma in line {line} still works on: its results are there, and its "
                "registers free, only after wgmma.commit_group and a wgmma.wait_group that covers it"
            )
        case "wgmma_fence":
            return _fence(site, line)
        case "wgmma_warps":
            return _warps(detail, other_thread)
        case "wgmma_wait":
            missing = "wgmma.wait_group" if detail else "wgmma.commit_group and wgmma.wait_group"
            return f"the kernel ends while this wgmma may still be running: {missing} 0 must follow it before the end"
    return _descriptor(detail)


def _fence(site: KernelSite | None, line: int | None) -> str:
    if site is not None and site.line == line:
        return (
            "this wgmma comes before any wgmma.fence: the hardware may read accumulators or A from registers that are "
            "not written yet; wgmma.fence.sync.aligned must stand before the first one"
        )
    return (
        f"this wgmma takes a register that line {line} writes, with no wgmma.fence between: the hardware may read the "
        "old value; wgmma.fence.sync.aligned must follow the last write"
    )


def _warps(detail: int, other_thread: Dim3) -> str:
    if detail == 2:
        return (
            f"the four warps of the warpgroup did not execute the same wgmma: the warp of thread {other_thread} "
            "executed more "
            "or fewer; a warpgroup is warps 4i to 4i + 3, and the hardware waits for all of them"
        )
    if detail == 1:
        return "only part of the warp executes this wgmma: all 128 threads of the warpgroup must, with no branch apart"
    return (
        "a wgmma takes the four warps 4i to 4i + 3, and this block does not have all of them: its threads must be a "
        "multiple of 128"
    )


def _descriptor(detail: int) -> str:
    start, width, matrix, problem = detail >> 32, detail >> 16 & 0xFFFF, "AB"[detail >> 8 & 1], detail & 255
    least = 8 * width if width > 16 else 16
    head = f"the descriptor of {matrix} (start {start}, {_NAMES[width]})"
    if problem == ROW_LEAVES_PATTERN:
        return (
            f"{head} starts {start % width} bytes into a row of {width} bytes, which what is read from there "
            "leaves: the hardware goes on in the next row; the swizzle must be wider, or the start nearer the row's"
        )
    if problem == BASE:
        return (
            f"{head} has a base offset although it starts at a row where the pattern begins: the hardware turns "
            "its rows by the wrong number; 0 is what an aligned matrix takes"
        )
    if problem == STRIDE:
        return (
            f"{head} has a stride byte offset below the {least} bytes that it steps over: "
            "groups of 8 rows overlap (the field counts units of 16 bytes)"
        )
    return (
        f"{head} has a leading byte offset below the {least} bytes that it steps over: its "
        "parts overlap (the field counts units of 16 bytes)"
    )
