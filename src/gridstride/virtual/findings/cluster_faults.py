"""Clusters of a launch: their dimensions, and what went wrong in them in words."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.virtual.abi.address_spaces import RANK_SHIFT
from gridstride.virtual.abi.execution_records import WAITING

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import LoadedKernel
    from gridstride.virtual.machine.session import Session
    from gridstride.virtual.machine.variant import KernelSite, Tables

_ARRIVED_TWICE = 1


def offset_in_block(record: Any) -> str:
    """Where a faulting `shared::cluster` address is: an offset and a rank, and what there is."""
    address, held = int(record["fault_address"]), int(record["shared_size"])
    cluster_blocks = int(np.prod(record["cluster"]))
    number, offset = address >> RANK_SHIFT & 0xFF, address & (1 << RANK_SHIFT) - 1
    if offset >> RANK_SHIFT - 1:  # a little before the start of the next one
        number, offset = number + 1, offset - (1 << RANK_SHIFT)
    if number == 0:
        return f"offset {offset} of the block's own shared memory, of which it has {held} bytes"
    where = f"offset {offset} of shared memory of block rank {number - 1}"
    if number > cluster_blocks:
        blocks = "block (rank 0)" if cluster_blocks == 1 else f"blocks (ranks 0 to {cluster_blocks - 1})"
        return f"{where}: the cluster has {cluster_blocks} {blocks}"
    return f"{where}, which has {held} bytes"


def other_block(site: KernelSite | None, record: Any) -> str:
    """A hint where plain .shared is given what mapa makes."""
    number = int(record["fault_address"]) >> RANK_SHIFT & 0xFF
    if not record["cluster_size"] or not 0 < number <= int(record["cluster_size"]) or site is None:
        return ""
    other_form = site.name.replace(".shared::cta", ".shared").replace(".shared", ".shared::cluster")
    return f": it is an address in block rank {number - 1}, which {other_form} reaches"


def exited(what: str, address: int) -> str:
    """An access to the shared memory of a block that has ended."""
    rank, offset = (address >> RANK_SHIFT & 0xFF) - 1, address & (1 << RANK_SHIFT) - 1
    return (
        f"{what} at offset {offset} of shared memory of block rank {rank}, which has ended: its memory may be another "
        "block's by now; a cluster.sync() at the end of the kernel keeps every block until all are done"
    )


def warn_of_exited(kernel: LoadedKernel, record: Any, tables: Tables) -> None:
    """The fast build lets such an access through."""
    site, size = int(record["exited_site"]), int(record["exited_size"])
    kernel_site = tables.sites[site] if site < len(tables.sites) else None
    where = f"{kernel_site.file}:{kernel_site.line}: " if kernel_site and kernel_site.line else ""
    what = exited(f"access of {size} bytes", int(record["exited_address"]))
    warnings.warn(f"{where}{kernel.title}: {what}", RuntimeWarning, stacklevel=2)


def barrier_misuse(record: Any) -> str:
    """barrier.cluster out of turn."""
    if int(record["fault_size"]) == _ARRIVED_TWICE:
        return "a second barrier.cluster.arrive with no barrier.cluster.wait between: threads arrive and wait in turn"
    return "a barrier.cluster.wait with no barrier.cluster.arrive before it: nothing says what it waits for"


def deadlock(session: Session, tables: Tables) -> str:
    """Who waits where in the cluster of the block that stands for it."""
    ctaid = session.launch[0]["fault_ctaid"]
    size = session.demand.cluster
    for worker, blocks in enumerate(session.blocks):
        slots = np.flatnonzero((blocks["active"] != 0) & (blocks["ctaid"] == ctaid).all(axis=1))
        if len(slots):
            first = int(slots[0]) // size * size
            lines = [_block(session, tables, worker, slot) for slot in range(first, first + size)]
            return f"no warp of the cluster can go on: {'; '.join(lines)}"
    return "no warp of the cluster can go on"


def _block(session: Session, tables: Tables, worker: int, slot: int) -> str:
    block = session.blocks[worker][slot]
    name = f"block ({', '.join(str(int(c)) for c in block['ctaid'])})"
    if not block["active"]:
        return f"{name} has ended"
    warps_per_block = session.demand.warps
    waiting: dict[str, list[int]] = {}
    for number, warp in enumerate(session.warps[worker][slot * warps_per_block : (slot + 1) * warps_per_block]):
        if warp["state"] == WAITING:
            waiting.setdefault(_location_text(tables, int(warp["site"])), []).append(number)
    parts = [f"{_warps(numbers)} at {where}" for where, numbers in waiting.items()]
    return f"{name}: {', '.join(parts) or 'no warp'}"


def _location_text(tables: Tables, site: int) -> str:
    kernel_site = tables.sites[site] if site < len(tables.sites) else None
    if kernel_site is None:
        return "a barrier"
    what = (
        "cluster barrier"
        if "cluster" in kernel_site.name.split(".") and kernel_site.name.startswith("bar")
        else "barrier"
    )
    what = "mbarrier" if kernel_site.name.startswith("mbarrier") else what
    return (
        f"the {what} in line {kernel_site.line}"
        if kernel_site.line
        else f"the {what} in PTX line {kernel_site.ptx_line}"
    )


def _warps(numbers: list[int]) -> str:
    shown = ", ".join(map(str, numbers[:8])) + (", …" if len(numbers) > 8 else "")
    return f"warp{'s' if len(numbers) > 1 else ''} {shown}"
