"""One observed launch: counters, findings, and how they show in a terminal and a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.protocol import Dim3, Shape
from gridstride.virtual.machine.children import Family
from gridstride.virtual.machine.clusters import cluster_of
from gridstride.virtual.machine.faults import thread_of
from gridstride.virtual.machine.heap import HeapUse
from gridstride.virtual.machine.layout import FAULTS, MAX_FINDINGS
from gridstride.virtual.machine.session import Session
from gridstride.virtual.machine.variant import Place, Tables, Variant
from gridstride.virtual.observe import clusters, warpgroup_messages
from gridstride.virtual.observe.counters import Counters, collect
from gridstride.virtual.observe.findings import Access, Finding, KernelFault
from gridstride.virtual.observe.model import Model
from gridstride.virtual.observe.occupancy import Occupancy
from gridstride.virtual.observe.predict import Prediction
from gridstride.virtual.observe.races import global_race
from gridstride.virtual.observe.said import SAID_OF_VALUES, of_value

if TYPE_CHECKING:
    from gridstride.virtual.gpu import VirtualGPU
    from gridstride.virtual.machine.loaded import VirtualKernel

ALL_COUNTED = 128
"""Blocks up to which every one is counted; of larger grids about this many are, spread evenly."""


def sample_step(grid: Dim3, team: int = 1) -> int:
    """Every how many blocks one is counted: never a multiple of a row, or one column of blocks would stand for all.

    Where clusters of `team` blocks are counted whole, the grid is one of clusters.
    """
    step = -(-grid[0] * grid[1] * grid[2] * team // ALL_COUNTED)
    while step > 1 and math.gcd(step, grid[0] * grid[1]) > 1:
        step += 1
    return step


@dataclass(frozen=True, slots=True)
class Run:
    """What one launch did. `source` is the CUDA text where there is one; `findings` is empty for a clean run; `heap` is
    its use of the device heap. Of a large grid some blocks stand for all (`counters.sampled`), and races are looked for
    among those: VirtualGPU(sanitize=True) looks at every block.
    """

    kernel: str
    chip: str
    grid: Dim3
    block: Dim3
    shared: int
    counters: Counters
    findings: tuple[Finding, ...]
    model: Model
    source: str | None = None
    heap: HeapUse | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    """Texts by file name, of a kernel linked from several."""
    children: Sequence[Run] = ()
    """The grids that this one launched itself, in the order in which they ran, each with its own."""
    stopped: bool = False
    """Whether a fault ended it: the counts are of what had run until then."""

    def descendants(self) -> Iterator[Run]:
        """The grids that this one launched, and those that they launched."""
        waiting = list(reversed(self.children))
        while waiting:  # a chain of tail launches may be thousands of grids deep
            yield (run := waiting.pop())
            waiting += reversed(run.children)

    @property
    def occupancy(self) -> Occupancy:
        """How many of its warps a multiprocessor holds at a time, and why not more."""
        return self.model.occupancy

    @property
    def predicted(self) -> Prediction:
        """How long it would take on the chip, from the counters; never a measurement."""
        return self.model.predicted

    def json(self) -> dict[str, Any]:
        """What the run counted and found, for a JSON file."""
        found = [{"kind": f.kind, "line": f.line, "message": f.message} for f in self.findings]
        return {"kernel": self.kernel, "chip": self.chip, "grid": list(self.grid), "block": list(self.block),
                "shared": self.shared, "counters": self.counters.json(), "occupancy": self.occupancy.json(),
                "predicted": self.predicted.json(), "findings": found, "stopped": self.stopped}  # fmt: skip

    def __str__(self) -> str:
        from gridstride.virtual.observe.display import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gridstride.virtual.observe.display import html

        return html(self)


def observe(kernel: VirtualKernel, shape: Shape, packed: bytes) -> Run:
    """Runs a kernel on the observed build. What the run did wrong is in `findings`; nothing is raised for it."""
    module = kernel.module
    with module.device.lock:
        seen = observe_one(kernel, shape, packed, root=True)
        if not seen.tables.launches or seen.stopped:
            return seen.run
        family = Family(module.launch_queue, observed=True, limit=module.device.time_limit)
        children = family.run(kernel, shape, seen.tables)
    below = {(f.kind, f.kernel, f.line): f for f in reversed(family.findings)}
    return replace(seen.run, findings=(*seen.run.findings, *reversed(below.values())), children=children)


@dataclass(frozen=True, slots=True)
class Seen:
    """One grid's Run without its children, whether a fault ended it, and its code's tables."""

    run: Run
    stopped: bool
    tables: Tables


def observe_one(
    kernel: VirtualKernel, shape: Shape, packed: bytes, *, limit: float | None = None, root: bool = False
) -> Seen:
    """Runs one grid on the observed build, in at most `limit` seconds; `root` where the host launched it."""
    device = kernel.module.device
    grid, block, total = shape.grid, shape.block, shape.blocks
    variant = kernel.variant(block, observed=True)
    cluster = cluster_of(kernel, shape) if variant.tables.clusters else (1, 1, 1)
    team = math.prod(cluster)
    clusters_of_grid = (grid[0] // cluster[0], grid[1] // cluster[1], grid[2] // cluster[2])
    sample = 1 if device.sanitize else sample_step(clusters_of_grid, team)
    session = kernel.prepare(variant, shape, sample)
    kernel.refresh(session)
    _watch_unset(session, variant, device)
    if root and variant.tables.launches:
        kernel.module.launch_queue.open(0)
    stopped: tuple[Finding, ...] = ()
    before = device.heap.use()
    try:
        kernel.run(session, variant, shape, packed, limit=limit)
    except KernelFault as fault:
        stopped = fault.findings
    counters = _counted(session, variant, -(-total // team // sample) * team, total, device)
    found = stopped + reported(kernel, block, session, variant, packed)
    device.shadow.close(device.touched.bytes)
    extent = variant.tables.static_shared + shape.shared
    model = Model(kernel, counters, grid, block, extent)
    run = Run(kernel.title, device.chip, grid, block, extent, counters, found, model, kernel.module.pieces[0].source,
              device.heap.use(before), kernel.module.texts, stopped=bool(stopped))  # fmt: skip
    return Seen(run, bool(stopped), variant.tables)


def _watch_unset(session: Session, variant: Variant, device: VirtualGPU) -> None:
    """Has reads of global memory checked, where something may be unset."""
    shadow, low, span = device.unset.shadow(device.arena)
    if span or variant.tables.extra["allocates"] or device.heap.use().live:
        session.watch_unset(shadow, low, span)
        device.heap.watched = True


def _counted(session: Session, variant: Variant, blocks: int, total: int, device: VirtualGPU) -> Counters:
    counters = collect(np.sum(session.counters, axis=0), variant.tables.extra, blocks, total)
    touched = device.touched.take(total / blocks, stopped=session.stopped())
    counters.read_bytes, counters.written_bytes, counters.atomic_bytes = touched
    return counters


def reported(
    kernel: VirtualKernel, block: Dim3, session: Session, variant: Variant, packed: bytes
) -> tuple[Finding, ...]:
    """The findings that did not stop the launch; one for each pair of places in the source."""
    count = min(int(session.launch["finding_count"][0]), MAX_FINDINGS)
    cluster: Dim3 = tuple(int(n) for n in session.launch["cluster"][0])  # type: ignore[assignment]
    seen: dict[tuple[Any, ...], Finding] = {}
    grid: Dim3 = tuple(int(n) for n in session.launch["grid"][0])  # type: ignore[assignment]
    for record in session.findings[:count]:
        if record["space"]:
            device = kernel.module.device
            found = global_race(kernel.title, grid, block, record, variant, device.arena, device.shadow.pairs)
        else:
            found = _finding(kernel, block, record, variant, packed, cluster)
        other = found.other.line if found.other else None
        seen.setdefault((found.kind, found.line, other), found)
    return explained(tuple(seen.values()))


def explained(found: tuple[Finding, ...]) -> tuple[Finding, ...]:
    """What came too early (a race, a copy not waited for) reads what is not there yet: that is said once."""
    early = [f for f in found if f.kind in ("race", "unwaited_copy")]
    lines = {f.line for f in early} | {f.other.line for f in early if f.other}
    unset = [f for f in found if f.kind == "uninitialised_read"]
    return (*(f for f in found if f not in unset), *(f for f in unset if f.line not in lines))


def _finding(of: VirtualKernel, block: Dim3, record: Any, variant: Variant, packed: bytes, cluster: Dim3) -> Finding:
    kind, kernel = FAULTS[int(record["kind"])], of.title
    here, there = (_place(variant, int(record[f])) for f in ("site", "other_site"))
    ctaid: Dim3 = tuple(int(c) for c in record["ctaid"])  # type: ignore[assignment]
    thread = thread_of(block, int(record["warp"]), int(record["lane"]))
    them = thread_of(block, int(record["other_warp"]), int(record["other_lane"]))
    file, line = (here.file, here.line) if here else (None, None)
    at = clusters.Place.of(int(record["address"]))
    elsewhere = ctaid if at.other is None else clusters.block_of(ctaid, cluster, at.other)
    other = Access(_verb(there), there.file if there else None, there.line if there else None, elsewhere, them)
    if kind == "barrier_divergence":
        message = (
            f"only part of the warp reached this barrier: thread {them} went past it; "
            "every thread of a block must come to the same __syncthreads()"
        )
        return Finding(kind, message, kernel, file, line, ctaid, thread, None, other)
    if kind in SAID_OF_VALUES:
        message, shown = of_value(of, kind, record, here, there, packed)
        return Finding(
            kind, message, kernel, file, line, ctaid, thread, shown, other if kind == "inactive_lane" else None
        )
    address = at.offset
    if at.owner is not None:
        owner = clusters.block_of(ctaid, cluster, at.owner)
        if kind in ("exited_block", "unstarted_block"):
            say = clusters.ended if kind == "exited_block" else clusters.early
            message = say(here, thread, owner, at.owner)
            return Finding(kind, message, kernel, file, line, ctaid, thread)
        message = clusters.race(here, thread, at, owner, elsewhere, them, there)
        return Finding(kind, message, kernel, file, line, ctaid, thread, address, other)
    if kind in ASYNCHRONOUS:
        they = str(them) if at.other is None else f"{them} of block {elsewhere}"
        message = _asynchronous(kind, thread, they, address, here, other.line)
        return Finding(kind, message, kernel, file, line, ctaid, thread, address, other)
    if kind.startswith("wgmma_"):
        message = warpgroup_messages.message(kind, thread, them, address, here, other.line)
        where = address if kind == "wgmma_operand" else None
        return Finding(kind, message, kernel, file, line, ctaid, thread, where, other)
    did = f"thread {thread} {_does(here)} shared memory at offset {address}, which thread {them}"
    if record["warp"] == record["other_warp"]:
        message = (
            f"{did} of the same warp {_did(there)} in line {other.line} with nothing between that brings the lanes "
            "together: is a __syncwarp() missing? Lanes of a warp need not run in step, and volatile does not change "
            "that"
        )
    else:
        message = f"{did} {_did(there)} in line {other.line} with no barrier between: is a __syncthreads() missing?"
    return Finding(kind, message, kernel, file, line, ctaid, thread, address, other)


ASYNCHRONOUS = ("unwaited_copy", "proxy_fence")


def _asynchronous(kind: str, thread: Dim3, them: str, address: int, here: Place | None, line: int | None) -> str:
    if kind == "proxy_fence":
        what = "wgmma" if here is not None and here.name.startswith("wgmma") else "bulk copy"
        return (
            f"the {what} reads shared memory at offset {address}, which thread {them} wrote in line {line} with no "
            "fence.proxy.async since: it may see what was there before"
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
