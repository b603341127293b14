"""Memory used after it was freed, and memory that nobody freed, in words."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gridstride.protocol import Dim3
from gridstride.virtual.findings.fault_messages import thread_of
from gridstride.virtual.findings.finding import KernelFinding
from gridstride.virtual.findings.value_messages import name_of
from gridstride.virtual.machine.memory.owners import FREED

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import LoadedKernel, VirtualDevice

PACKAGE = str(Path(__file__).parents[2])


def caller() -> tuple[str, int] | None:
    """File and line of the code outside of GridStride that is running."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back  # type: ignore[assignment]
    return (frame.f_code.co_filename, frame.f_lineno) if frame is not None else None


def after_free(kernel: LoadedKernel, finding: KernelFinding, packed: bytes) -> KernelFinding:
    """A finding about bounds, told as use after free where the host has freed what was there."""
    arena = kernel.module.device.arena
    if finding.kind != "out_of_bounds" or finding.address is None:
        return finding
    gone = arena.freed_at(finding.address)
    if gone is None:
        return finding
    start, size = gone
    name = name_of(kernel, packed, start, size)
    if name is None:  # an array next to it may have been left by far as well
        return finding
    message = (
        f"{finding.message.partition(' at address')[0]} at byte {finding.address - start} of {name} ({size} bytes), "
        "which the host has freed: keep the array until the last kernel that uses it is through"
    )
    return replace(finding, kind="use_after_free", message=message)


def of_another_gpu(kernel: LoadedKernel, finding: KernelFinding) -> KernelFinding:
    """A finding about bounds, told as missing peer access where the memory is another GPU's."""
    arena = kernel.module.device.arena
    if finding.kind != "out_of_bounds" or finding.address is None:
        return finding
    near = arena.nearest(finding.address)
    if near is None or near.start not in arena.hidden or not near.start <= finding.address < near.start + near.size:
        return finding
    owner = arena.hidden[near.start]
    if owner == FREED:
        return finding
    way_out = (
        f"cudaDeviceEnablePeerAccess({owner}, 0) while this one is current gives it, for memory of a pool "
        "cudaMemPoolSetAccess; or copy the bytes"
        if kernel.module.device.model.timeline["peer_gb_per_s"]
        else "and the driver of this chip gives none: copy the bytes"
    )
    message = (
        f"{finding.message.partition(' at address')[0]} at byte {finding.address - near.start} of {near.size} bytes of "
        f"GPU {owner}, which this GPU has no access to: {way_out}"
    )
    return replace(finding, kind="no_peer_access", message=message)


def leaks(device: VirtualDevice) -> Iterator[KernelFinding]:
    """One finding for each allocation of the host, and for each line of a kernel that called malloc."""
    for start, size in device.arena.live():
        if start not in device.own:
            file, line = device.callers.get(start) or (None, None)
            message = f"an allocation of {size} bytes is still there: nobody has freed it"
            yield KernelFinding("leak", message, "", file, line, address=start)
    yield from _heap_leaks(device)


def _heap_leaks(device: VirtualDevice) -> Iterator[KernelFinding]:
    leaks: dict[tuple[str, str | None, int | None], list[KernelFinding]] = {}
    for block, record in device.heap.live():
        origin = device.origins[int(record["origin"])]
        sites, site = origin.tables.sites, int(record["site"])
        kernel_site = sites[site] if site < len(sites) else None
        file, line = (kernel_site.file, kernel_site.line) if kernel_site else (None, None)
        thread = thread_of(origin.block, int(record["warp"]), int(record["lane"]))
        ctaid: Dim3 = tuple(int(c) for c in record["ctaid"])  # type: ignore[assignment]
        leak = KernelFinding("leak", str(block.size), origin.kernel, file, line, ctaid, thread, block.start)
        leaks.setdefault((origin.kernel, file, line), []).append(leak)
    for group in leaks.values():
        total = sum(int(leak.message) for leak in group)
        amount = f"{len(group)} blocks from malloc, {total} bytes," if len(group) > 1 else f"{total} bytes from malloc"
        end = "were never freed, the first by this thread" if len(group) > 1 else "were never freed"
        yield replace(group[0], message=f"{amount} {end}: the device heap keeps them from launch to launch")
