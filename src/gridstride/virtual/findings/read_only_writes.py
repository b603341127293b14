"""Stores to memory that a launch was only to read, found in the race detector's shadow when it has ended.

What memory holds afterwards does not tell: a kernel may have put it back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gridstride.protocol import Dim3
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.abi.race_shadows import SITE_BIT
from gridstride.virtual.findings.elements import array_at
from gridstride.virtual.findings.fault_messages import thread_of
from gridstride.virtual.findings.finding import KernelFinding
from gridstride.virtual.findings.race_messages import block_of
from gridstride.virtual.machine.variant import Variant

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import LoadedKernel

_SITES = (1 << 32 - SITE_BIT) - 1


def read_only_writes(
    kernel: LoadedKernel, shape: tuple[Dim3, Dim3], variant: Variant, packed: bytes
) -> tuple[KernelFinding, ...]:
    """A finding for each of the device's read-only ranges that the launch just ended has written to."""
    device = kernel.module.device
    findings = []
    for address, nbytes in device.read_only:
        written = device.shadow.written(address, nbytes)
        recent = np.flatnonzero(written)
        if recent.size:
            first = int(recent[0])
            start = max(address, device.shadow.unit_address(address, first))
            findings.append(_finding(kernel, shape, variant, packed, start, int(written[first]), recent.size))
    return tuple(findings)


def _finding(
    kernel: LoadedKernel, shape: tuple[Dim3, Dim3], variant: Variant, packed: bytes, address: int, entry: int,
    count: int,
) -> KernelFinding:  # fmt: skip
    (grid, block), sites = shape, variant.tables.sites
    site = entry >> SITE_BIT & _SITES
    file, line = (sites[site].file, sites[site].line) if site < len(sites) else (None, None)
    array = array_at(kernel, packed, address)
    where = array.at(address) if array is not None else f"the bytes at address {address:#x}"
    more = f" (and {count - 1} places more)" if count > 1 else ""
    who = kernel.module.device.shadow.who(entry)
    if who is None:
        message = f"a thread writes {where}{more}, which this launch was only to read"
        return KernelFinding("read_only_write", message, kernel.title, file, line, address=address)
    thread = thread_of(block, who[1], entry % LANES)
    message = f"thread {thread} writes {where}{more}, which this launch was only to read"
    return KernelFinding("read_only_write", message, kernel.title, file, line, block_of(grid, who[0]), thread, address)
