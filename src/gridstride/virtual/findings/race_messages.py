"""Races in global memory, in words: who touched which element of which allocation, and what was probably meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.protocol import Dim3
from gridstride.virtual.abi.finding_kinds import FAULT, FAULTS
from gridstride.virtual.abi.finding_records import GLOBAL_RACE, GLOBAL_RACE_OF_LANES, SINGLE_LANE_WAIT, pair_key
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.findings.elements import array_at
from gridstride.virtual.findings.fault_messages import thread_of
from gridstride.virtual.findings.finding import KernelFinding, OtherAccess
from gridstride.virtual.machine.variant import KernelSite, Variant

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import LoadedKernel


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two accesses: what it was, where it stands and whose it is. `did` is "wrote", "read" or "changed"."""

    name: str
    did: str
    file: str | None
    line: int | None
    block: Dim3
    thread: Dim3
    warp: int

    @property
    def atomic(self) -> bool:
        return self.name.partition(".")[0] in ("atom", "red")

    @property
    def of_its_block(self) -> bool:
        """Whether its order holds among the threads of its block alone: atomicAdd_block, thread_scope_block, .cta."""
        return "cta" in self.name.split(".")

    def access(self) -> OtherAccess:
        return OtherAccess("read" if self.did == "read" else "write", self.file, self.line, self.block, self.thread)


def global_race(
    kernel: LoadedKernel, shape: tuple[Dim3, Dim3], record: Any, variant: Variant, packed: bytes,
    pairs: np.ndarray[Any, Any],
) -> KernelFinding:  # fmt: skip
    """The finding that a record of a race in global memory, or of a read that no order helps, stands for."""
    sites, (grid, block) = variant.tables.sites, shape
    own_site, other_site = (
        sites[int(record[f])] if int(record[f]) < len(sites) else None for f in ("site", "other_site")
    )
    own: Dim3 = tuple(int(c) for c in record["ctaid"])  # type: ignore[assignment]
    other = block_of(grid, int(record["other_block"]))
    warps = int(record["warp"]), int(record["other_warp"])
    own_side = _side(own_site, own, thread_of(block, warps[0], int(record["lane"])), warps[0])
    their_lane = int(record["other_lane"])
    other_side = _side(other_site, other, thread_of(block, warps[1], their_lane & (LANES - 1)), warps[1])
    address = int(record["address"])
    kind = FAULTS[int(record["kind"])]
    lanes = own_side.block == other_side.block and own_side.warp == other_side.warp
    counted = GLOBAL_RACE_OF_LANES if lanes else GLOBAL_RACE
    key = pair_key(counted if kind == "race" else FAULT[kind], int(record["site"]), int(record["other_site"]))
    count = int(pairs["count"][pairs["key"] == key].sum())
    say = {"race": _message, "proxy_fence": _unfenced}.get(kind, _past_the_caches)
    say = _ordered_by_one_lane if their_lane & SINGLE_LANE_WAIT else say
    message = say(own_side, other_side, _element(kernel, packed, address), count)
    return KernelFinding(
        kind, message, kernel.title, own_side.file, own_side.line, own, own_side.thread, address, other_side.access()
    )


def block_of(grid: Dim3, index: int) -> Dim3:
    """%ctaid of a block by its linear index."""
    return (index % grid[0], index // grid[0] % grid[1], index // (grid[0] * grid[1]))


def _side(site: KernelSite | None, block: Dim3, thread: Dim3, warp: int) -> Side:
    if site is None:
        return Side("", "touched", None, None, block, thread, warp)
    return Side(site.name, _did(site), site.file, site.line, block, thread, warp)


def _did(site: KernelSite) -> str:
    opcode, *words = site.name.replace("::", ".").split(".")
    if opcode in ("atom", "red") or (opcode == "cp" and "reduce" in words):
        return "changed"
    if opcode == "cp":
        spaces = [w for w in words if w in ("shared", "global")]
        return "wrote" if spaces[:1] == ["global"] else "read"
    return "wrote" if opcode in ("st", "wmma", "discard") and "load" not in words else "read"


def _element(kernel: LoadedKernel, packed: bytes, address: int) -> str:
    """Where an address is, in elements of the parameter that points there; in bytes where none does."""
    array = array_at(kernel, packed, address)
    if array is not None:
        return array.at(address)
    near = kernel.module.device.arena.nearest(address)
    if near is None or near.distance or address < near.start:
        return f"the bytes at address {address:#x}"
    return f"byte {address - near.start} of the allocation of {near.size} bytes"


def _message(own_side: Side, other_side: Side, where: str, count: int) -> str:
    does = {"wrote": "writes", "read": "reads", "changed": "changes atomically", "touched": "touches"}[own_side.did]
    did = "changed atomically" if other_side.did == "changed" else other_side.did
    same = own_side.block == other_side.block
    warp = " of the same warp" if own_side.warp == other_side.warp else ""
    me = f"thread {own_side.thread}" + ("" if same else f" of block {own_side.block}")
    other_thread = f"thread {other_side.thread}" + (warp if same else f" of block {other_side.block}")
    more = f" ({count} times between these two lines)" if count > 1 else ""
    return (
        f"{me} {does} {where}, which {other_thread} {did} in line {other_side.line} with nothing to say which "
        f"comes first{more}: {_advice(own_side, other_side, same)}"
    )


def _ordered_by_one_lane(own_side: Side, other_side: Side, where: str, count: int) -> str:
    """Of a write that another lane of its warp has told of."""
    does = "writes" if own_side.did == "wrote" else "reads"
    me, other_thread = f"thread {own_side.thread}", f"thread {other_side.thread}"
    if own_side.block != other_side.block:
        me, other_thread = f"{me} of block {own_side.block}", f"{other_thread} of block {other_side.block}"
    more = f" ({count} times between these two lines)" if count > 1 else ""
    return (
        f"{me} {does} {where}, which {other_thread} wrote in line {other_side.line}, and one lane told of it (by a "
        "flag, a "
        f"counter or at an mbarrier) for its whole warp{more}: that says nothing of the other lanes, behind a fence or "
        "not. Is a __syncwarp() missing before the one tells?"
    )


def _past_the_caches(own_side: Side, other_side: Side, where: str, count: int) -> str:
    """Of a read through the read-only path and a write in the same launch, in whatever order."""
    verb = {"wrote": "writes", "read": "reads", "changed": "changes atomically", "touched": "touches"}[own_side.did]
    did = "changed atomically" if other_side.did == "changed" else other_side.did
    me, other_thread = f"thread {own_side.thread}", f"thread {other_side.thread}"
    if own_side.block != other_side.block:
        me, other_thread = f"{me} of block {own_side.block}", f"{other_thread} of block {other_side.block}"
    path = " through the read-only cache"
    more = f" ({count} times between these two lines)" if count > 1 else ""
    own_path, other_path = (path, "") if own_side.did == "read" else ("", path)
    return (
        f"{me} {verb} {where}{own_path}, which {other_thread} {did}{other_path} in line {other_side.line} of the "
        f"same launch{more}: "
        "that cache (ld.global.nc) is not kept coherent, and no barrier or fence orders it, so the read may give the "
        "old value or the new; it is what __ldg and `const … __restrict__` make, which promise that nobody writes "
        "there while the kernel runs: read it with a plain load, or write to another array"
    )


def _unfenced(own_side: Side, other_side: Side, where: str, count: int) -> str:
    """Of a bulk copy that reads what threads of its block have written."""
    more = f" ({count} times between these two lines)" if count > 1 else ""
    return (
        f"the bulk copy of thread {own_side.thread} reads {where}, which thread {other_side.thread} wrote in line "
        f"{other_side.line} with no fence.proxy.async since{more}: it may see what was there before. Let the threads "
        "that write execute fence.proxy.async ahead of the barrier"
    )


def _advice_within_a_warp(own_side: Side, other_side: Side) -> str:
    if own_side.did == other_side.did == "wrote" and own_side.line == other_side.line:
        return (
            "they store different values, and any of them may stay; give each thread a place of its own, or use atomics"
        )
    return (
        "both are lanes of one warp, and nothing between brings these together: is a __syncwarp() missing? Lanes of a "
        "warp need not run in step, and volatile does not change that"
    )


def _advice(own_side: Side, other_side: Side, same: bool) -> str:
    if not same and (own_side.of_its_block or other_side.of_its_block):
        line = own_side.line if own_side.of_its_block else other_side.line
        return (
            f"what line {line} does is atomic and ordered for one block alone (`_block`, thread_scope_block, .cta), "
            "and these are two; take the device's scope (atomicAdd, thread_scope_device, .gpu)"
        )
    if own_side.atomic != other_side.atomic:
        return "an atomic and a plain access of one place race too; make both atomic (or volatile), or keep them apart"
    if own_side.line == other_side.line and own_side.did != other_side.did:
        return (
            "threads that update one place at a time lose each other's updates (use atomicAdd or another atomic), and "
            "those that read another's place may find it written already (write to another array than you read)"
        )
    if same and own_side.warp == other_side.warp:
        return _advice_within_a_warp(own_side, other_side)
    if same:
        return "is a __syncthreads() missing?"
    if own_side.did == other_side.did == "wrote":
        return "blocks run in any order, so either value may stay; give each block places of its own, or use atomics"
    return (
        "blocks run in any order; write to another array than you read, split the kernel in two, or publish with "
        "__threadfence() and an atomic flag, both of the device's scope (grid.sync() in a cooperative launch)"
    )
