"""Races in global memory, in words: who touched which element of which allocation, and what was probably meant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.virtual.lowering.runtime.pairs import pair_key
from gridstride.virtual.machine.faults import thread_of
from gridstride.virtual.machine.session import Dim3
from gridstride.virtual.machine.variant import Place, Variant
from gridstride.virtual.observe.findings import Access, Finding

if TYPE_CHECKING:
    from gridstride.virtual.machine.arena import Arena


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two accesses: what it was, where it stands and whose it is. `did` is "wrote", "read" or "changed"."""

    name: str
    did: str
    file: str | None
    line: int | None
    block: Dim3
    thread: Dim3

    @property
    def atomic(self) -> bool:
        return self.name.partition(".")[0] in ("atom", "red")

    def access(self) -> Access:
        return Access("read" if self.did == "read" else "write", self.file, self.line, self.block, self.thread)


def global_race(
    kernel: str, grid: Dim3, block: Dim3, record: Any, variant: Variant, arena: Arena, pairs: np.ndarray[Any, Any]
) -> Finding:
    """The finding that a record of a race in global memory stands for."""
    sites = variant.tables.sites
    here, there = (sites[int(record[f])] if int(record[f]) < len(sites) else None for f in ("site", "other_site"))
    own: Dim3 = tuple(int(c) for c in record["ctaid"])  # type: ignore[assignment]
    other = block_of(grid, int(record["other_block"]))
    mine = _side(here, own, thread_of(block, int(record["warp"]), int(record["lane"])))
    theirs = _side(there, other, thread_of(block, int(record["other_warp"]), int(record["other_lane"])))
    address = int(record["address"])
    key = pair_key(int(record["site"]), int(record["other_site"]))
    count = int(pairs["count"][pairs["key"] == key].sum())
    message = _message(mine, theirs, _element(address, variant.tables.extra["global_unit"], arena), count)
    return Finding("race", message, kernel, mine.file, mine.line, own, mine.thread, address, theirs.access())


def block_of(grid: Dim3, index: int) -> Dim3:
    """%ctaid of a block by its linear index."""
    return (index % grid[0], index // grid[0] % grid[1], index // (grid[0] * grid[1]))


def _side(place: Place | None, block: Dim3, thread: Dim3) -> Side:
    if place is None:
        return Side("", "touched", None, None, block, thread)
    return Side(place.name, _did(place), place.file, place.line, block, thread)


def _did(place: Place) -> str:
    opcode, *words = place.name.replace("::", ".").split(".")
    if opcode in ("atom", "red") or (opcode == "cp" and "reduce" in words):
        return "changed"
    if opcode == "cp":
        spaces = [w for w in words if w in ("shared", "global")]
        return "wrote" if spaces[:1] == ["global"] else "read"
    return "wrote" if opcode in ("st", "wmma") and "load" not in words else "read"


def _element(address: int, size: int, arena: Arena) -> str:
    """Where in an allocation an address is, in elements of the smallest size that the kernel uses."""
    near = arena.nearest(address)
    if near is None or near.distance or address < near.start:
        return f"the bytes at address {address:#x}"
    number = (address - near.start) // size
    what = f"byte {number}" if size == 1 else f"element {number} ({size} bytes each)"
    return f"{what} of the allocation of {near.size} bytes"


def _message(mine: Side, theirs: Side, where: str, count: int) -> str:
    does = {"wrote": "writes", "read": "reads", "changed": "changes atomically", "touched": "touches"}[mine.did]
    did = "changed atomically" if theirs.did == "changed" else theirs.did
    same = mine.block == theirs.block
    them = f"thread {theirs.thread}" + ("" if same else f" of block {theirs.block}")
    more = f" ({count} times between these two lines)" if count > 1 else ""
    return (
        f"thread {mine.thread} {does} {where}, which {them} {did} in line {theirs.line} with nothing to say which "
        f"comes first{more}: {_advice(mine, theirs, same)}"
    )


def _advice(mine: Side, theirs: Side, same: bool) -> str:
    if mine.atomic != theirs.atomic:
        return "an atomic and a plain access of one place race too; make both atomic (or volatile), or keep them apart"
    if mine.line == theirs.line and mine.did != theirs.did:
        return "threads that update one place at a time lose each other's updates; use atomicAdd or another atomic"
    if same:
        return "is a __syncthreads() missing?"
    if mine.did == theirs.did == "wrote":
        return "blocks run in any order, so either value may stay; give each block places of its own, or use atomics"
    return (
        "blocks run in any order; write to another array than you read, split the kernel in two, or publish with "
        "__threadfence() and an atomic flag (grid.sync() in a cooperative launch)"
    )
