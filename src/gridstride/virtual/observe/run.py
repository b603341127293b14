"""One observed launch: counters, findings, and how they show in a terminal and a notebook."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.virtual.machine.faults import thread_of
from gridstride.virtual.machine.heap import HeapUse
from gridstride.virtual.machine.layout import FAULTS, MAX_FINDINGS
from gridstride.virtual.machine.session import Dim3, Session
from gridstride.virtual.machine.variant import Place, Variant
from gridstride.virtual.observe.counters import Counters, collect
from gridstride.virtual.observe.findings import Access, Finding, KernelFault
from gridstride.virtual.observe.predict import Prediction, predict
from gridstride.virtual.observe.said import REGISTER, inactive_lane, member_mask, uninitialised

if TYPE_CHECKING:
    from gridstride.virtual.machine.loaded import VirtualKernel

ALL_COUNTED = 128
"""Blocks up to which every one is counted; of larger grids about this many are, spread evenly."""


def sample_step(grid: Dim3) -> int:
    """Every how many blocks one is counted: never a multiple of a row, or one column of blocks would stand for all."""
    step = -(-grid[0] * grid[1] * grid[2] // ALL_COUNTED)
    while step > 1 and math.gcd(step, grid[0] * grid[1]) > 1:
        step += 1
    return step


@dataclass(frozen=True, slots=True)
class Run:
    """What one launch did. `source` is the CUDA text where there is one; `findings` is empty for a clean run; `heap` is
    its use of the device heap.
    """

    kernel: str
    chip: str
    grid: Dim3
    block: Dim3
    shared: int
    counters: Counters
    findings: tuple[Finding, ...]
    predicted: Prediction
    source: str | None = None
    heap: HeapUse | None = None

    def __str__(self) -> str:
        from gridstride.virtual.observe.display import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gridstride.virtual.observe.display import html

        return html(self)


def observe(kernel: VirtualKernel, grid: Dim3, block: Dim3, packed: bytes, shared: int, cooperative: bool) -> Run:
    """Runs a kernel on the observed build. What the run did wrong is in `findings`; nothing is raised for it."""
    device = kernel.module.device
    total = grid[0] * grid[1] * grid[2]
    sample = sample_step(grid)
    with device.lock:
        variant = kernel.variant(block, observed=True)
        session = kernel.prepare(variant, grid, block, shared, cooperative, sample=sample)
        kernel.refresh(session)
        shadow, low, span = device.unset.shadow(device.arena)
        if span or variant.tables.extra["allocates"] or device.heap.use().live:
            session.watch_unset(shadow, low, span)
        stopped: tuple[Finding, ...] = ()
        before = device.heap.use()
        try:
            kernel.run(session, variant, grid, block, packed)
        except KernelFault as fault:
            stopped = fault.findings
        raw = np.sum(session.counters, axis=0)
        counters = collect(raw, variant.tables.extra, -(-total // sample), total)
        found = stopped + reported(kernel, block, session, variant, packed)
    extent = variant.tables.static_shared + shared
    time = predict(counters, grid, block, extent, device.model, device.arena.used)
    return Run(kernel.title, device.chip, grid, block, extent, counters, found, time, kernel.module.source,
               device.heap.use(before))  # fmt: skip


def reported(
    kernel: VirtualKernel, block: Dim3, session: Session, variant: Variant, packed: bytes
) -> tuple[Finding, ...]:
    """The findings that did not stop the launch; one for each pair of places in the source."""
    count = min(int(session.launch["finding_count"][0]), MAX_FINDINGS)
    seen: dict[tuple[Any, ...], Finding] = {}
    for record in session.findings[:count]:
        found = _finding(kernel, block, record, variant, packed)
        other = found.other.line if found.other else None
        seen.setdefault((found.kind, found.line, other), found)
    return explained(tuple(seen.values()))


def explained(found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What came too early (a race, a copy not waited for) reads what is not there yet: that is said once."""
    early = [f for f in found if f.kind in ("race", "unwaited_copy")]
    lines = {f.line for f in early} | {f.other.line for f in early if f.other}
    unset = [f for f in found if f.kind == "uninitialised_read"]
    return (*(f for f in found if f not in unset), *(f for f in unset if f.line not in lines))


def _finding(of: VirtualKernel, block: Dim3, record: Any, variant: Variant, packed: bytes) -> Finding:
    kind, kernel = FAULTS[int(record["kind"])], of.title
    here, there = (_place(variant, int(record[f])) for f in ("site", "other_site"))
    ctaid: Dim3 = tuple(int(c) for c in record["ctaid"])  # type: ignore[assignment]
    thread = thread_of(block, int(record["warp"]), int(record["lane"]))
    them = thread_of(block, int(record["other_warp"]), int(record["other_lane"]))
    file, line = (here.file, here.line) if here else (None, None)
    other = Access(_verb(there), there.file if there else None, there.line if there else None, ctaid, them)
    if kind == "barrier_divergence":
        message = (
            f"only part of the warp reached this barrier: thread {them} went past it; "
            "every thread of a block must come to the same __syncthreads()"
        )
        return Finding(kind, message, kernel, file, line, ctaid, thread, None, other)
    address = int(record["address"])
    if kind == "uninitialised_read":
        direct = there is None  # an atomic or a copy; else a load whose value was used there
        space = int(record["other_site"]) & 3 if direct else int(record["other_warp"])
        used = there.line if there is not None else None
        message = uninitialised(of, here, space, address, packed, used)
        shown = None if space == REGISTER else address
        return Finding(kind, message, kernel, file, line, ctaid, thread, shown)
    if kind == "inactive_lane":
        message = inactive_lane(int(record["other_lane"]), other.line)
        return Finding(kind, message, kernel, file, line, ctaid, thread, None, other)
    if kind == "member_mask":
        message = member_mask(int(record["lane"]), address & 0xFFFFFFFF, address >> 32)
        return Finding(kind, message, kernel, file, line, ctaid, thread)
    if kind in ASYNCHRONOUS:
        message = _asynchronous(kind, thread, them, address, here, other.line)
        return Finding(kind, message, kernel, file, line, ctaid, thread, address, other)
    if record["warp"] == record["other_warp"]:
        message = (
            f"thread {thread} {_does(here)} shared memory at offset {address}, which thread {them} of the same warp "
            f"{_did(there)} in line {other.line} with nothing between that brings the lanes together: is a "
            "__syncwarp() missing? Lanes of a warp need not run in step, and volatile does not change that"
        )
        return Finding(kind, message, kernel, file, line, ctaid, thread, address, other)
    message = (
        f"thread {thread} {_does(here)} shared memory at offset {address}, which thread {them} {_did(there)} in line "
        f"{other.line} with no barrier between: is a __syncthreads() missing?"
    )
    return Finding(kind, message, kernel, file, line, ctaid, thread, address, other)


ASYNCHRONOUS = ("unwaited_copy", "proxy_fence")


def _asynchronous(kind: str, thread: Dim3, them: Dim3, address: int, here: Place | None, line: int | None) -> str:
    if kind == "proxy_fence":
        return (
            f"the bulk copy reads shared memory at offset {address}, which thread {them} wrote in line {line} with no "
            "fence.proxy.async since: the copy may see what was there before"
        )
    return (
        f"thread {thread} {_does(here)} shared memory at offset {address}, where the copy that thread {them} started "
        f"in line {line} has not been waited for: cp.async needs a wait_group (__pipeline_wait_prior) and a barrier, a "
        "bulk copy a wait on its mbarrier or its group"
    )


def _place(variant: Variant, site: int) -> Place | None:
    return variant.tables.sites[site] if site < len(variant.tables.sites) else None


def _verb(place: Place | None) -> str:
    if place is None:
        return "read"
    spaces = [word for word in place.name.replace("::", ".").split(".") if word in ("shared", "global")]
    copies_in = place.name.startswith("cp.") and spaces[:1] == ["shared"]
    return "write" if place.name.startswith("st") or copies_in else "read"


def _does(place: Place | None) -> str:
    return f"{_verb(place)}s"


def _did(place: Place | None) -> str:
    return "wrote" if _verb(place) == "write" else "read"
