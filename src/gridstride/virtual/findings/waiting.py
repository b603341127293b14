"""What warps wait for when a launch is stopped: barriers with who is missing, mbarriers, values in memory."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gridstride.virtual.abi.hardware_limits import BARRIERS
from gridstride.virtual.abi.mbarriers import COUNT_MASK
from gridstride.virtual.findings.finding import KernelFinding
from gridstride.virtual.ptx.module import PtxModule, Special

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import VirtualDevice
    from gridstride.virtual.machine.session import Session
    from gridstride.virtual.machine.variant import KernelSite, Tables

TAG = 1 << 61
"""Bits 61 and 62 of an mbarrier object are 01."""


def barriers(session: Session, ctaid: list[int]) -> str:
    """The barriers of a block at which some threads, but not all, have arrived."""
    parts = []
    for blocks in session.blocks:
        for block in blocks[(blocks["ctaid"] == ctaid).all(axis=1) & (blocks["active"] != 0)]:
            for number in range(BARRIERS):
                come, expected = int(block["arrived"][number]), int(block["expected"][number]) or int(block["threads"])
                if come:
                    # With a thread count, warps count whole.
                    parts.append(f"barrier {number} has {come} of {expected} threads")
    return f" ({'; '.join(parts)})" if parts else ""


def polled(session: Session, tables: Tables, device: VirtualDevice) -> str:
    """What the warp that stands for a stopped launch last asked for; empty where nobody knows."""
    record = session.launch[0]
    for warps in session.warps:
        for warp in warps[(warps["warp"] == record["fault_warp"]) & (warps["polled"] != 0)]:
            if (warp["ctaid"] == record["fault_ctaid"]).all():
                return described(warp, session, tables, device)
    return ""


def stalled(session: Session, tables: Tables, device: VirtualDevice) -> str:
    """A launch whose warps all wait in loops (stalls.py)."""
    waits = "all warps that are left wait in loops" + polled(session, tables, device)
    return waits + (not_started(session) or "; nobody is left who could write what they wait for")


def not_started(session: Session) -> str:
    """That some blocks wait while others have not started: what CUDA promises, and what not."""
    record = session.launch[0]
    held, blocks = sum(int((b["active"] != 0).sum()) for b in session.blocks), int(record["blocks"])
    started = int(record["next"]) * max(1, int(record["cluster_size"]))
    if not session.demand.spins or started >= blocks or record["envreg"].any():
        return ""
    who = "the block that runs waits" if held == 1 else f"the {held:,} blocks that run wait"
    return (
        f"; {who} while {blocks - started:,} of {blocks:,} blocks cannot start before one ends: without a cooperative "
        "launch (cooperative=True) CUDA promises neither that all blocks of a grid run at the same time nor in which "
        "order they start, so a block may wait only for blocks that have started before it, as the order of an "
        "atomic ticket says, not that of blockIdx"
    )


def waiting_for(warps: Any, session: Session, tables: Tables, device: VirtualDevice) -> Iterator[str]:
    """The mbarriers that warps are held at, each once."""
    polled_addresses = set()
    for warp in warps:
        site = int(warp["site"])
        if site == int(warp["polled_site"]) and warp["polled"] and int(warp["polled"]) not in polled_addresses:
            polled_addresses.add(int(warp["polled"]))
            yield described(warp, session, tables, device)


def described(warp: Any, session: Session, tables: Tables, device: VirtualDevice) -> str:
    """In words, from the record of a warp."""
    site, address = int(warp["polled_site"]), int(warp["polled"])
    kernel_site = tables.sites[site] if site < len(tables.sites) else None
    offset = address - int(warp["shared"])
    shared = 0 <= offset < max(1, int(session.launch["shared_size"][0]))
    where = f"offset {offset} of shared memory" if shared else f"address {address:#x}"
    if kernel_site is None or not (
        shared or device.arena.holds(address, 8 if kernel_site.name.startswith("mbarrier") else 1)
    ):
        return ""
    if kernel_site.name.startswith("mbarrier"):
        return _mbarrier(kernel_site, int.from_bytes(ctypes.string_at(address, 8), "little"), where)
    size = kernel_site.bytes if kernel_site.bytes in (1, 2, 4, 8) else 4
    value = int.from_bytes(ctypes.string_at(address, size), "little")
    polled = f"the {size} bytes at {where}"
    return f"; line {kernel_site.line} asks for {polled} again and again, which hold {value} ({value:#x})"


def outside_a_cooperative_grid(finding: KernelFinding, module: PtxModule) -> KernelFinding:
    """A trap of a launch that is not cooperative, where the module asks for a cooperative grid's workspace."""
    operands = (o for f in module.functions.values() for i in f.instructions for o in i.operands)
    if not any(isinstance(o, Special) and o.name.startswith("envreg") for o in operands):
        return finding
    message = (
        "the blocks of this grid cannot wait for each other: grid.sync() needs a cooperative launch, "
        "`// cooperative: yes` at the top of a kernel's file, or kernel.launch(…, cooperative=True)"
    )
    return replace(finding, message=message)


def _mbarrier(site: KernelSite, word: int, where: str) -> str:
    if word & 3 * TAG != TAG:
        return ""
    missing, bytes_ = word >> 20 & COUNT_MASK, word >> 40 & (1 << 21) - 1
    bytes_ -= (bytes_ >> 20) << 21
    parts = [f"{missing} of {word & COUNT_MASK} arrivals"] if missing else []
    parts += [f"{bytes_} bytes"] if bytes_ else []
    lacks = " and ".join(parts) or "nothing"
    return f"; the mbarrier at {where}, waited for in line {site.line}, is in phase {word >> 63} and lacks {lacks}"
