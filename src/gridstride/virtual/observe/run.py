"""One observed launch: counters, findings, and how they show in a terminal and a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.protocol import Dim3, Shape
from gridstride.virtual.findings.finding import KernelFault, KernelFinding
from gridstride.virtual.findings.read_only_writes import read_only_writes
from gridstride.virtual.findings.recorded import beside, reported
from gridstride.virtual.machine.cluster_shape import cluster_of
from gridstride.virtual.machine.memory.footprint import footprint
from gridstride.virtual.machine.memory.heap import HeapUse
from gridstride.virtual.machine.observed_blocks import ObservedBlocks, evenly, in_pairs
from gridstride.virtual.machine.session import Session
from gridstride.virtual.machine.variant import Tables, Variant
from gridstride.virtual.observe.counters import Counters, LaunchCounts
from gridstride.virtual.observe.model import LaunchModel
from gridstride.virtual.observe.occupancy import Occupancy
from gridstride.virtual.observe.predict import Prediction

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import LoadedKernel, VirtualDevice


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """What one launch did. `source` is the CUDA text where there is one; `findings` is empty for a clean run; `heap` is
    its use of the device heap. Of a large grid some blocks stand for all (`counters.sampled`), and races are looked for
    among those: VirtualGPU(sanitize=True) looks at every block.
    """

    kernel: str
    chip: str
    grid: Dim3
    block: Dim3
    shared: int
    findings: tuple[KernelFinding, ...]
    model: LaunchModel
    source: str | None = None
    heap: HeapUse | None = None
    sources: Mapping[str, str] = field(default_factory=dict)
    """Texts by file name, of a kernel linked from several."""
    children: Sequence[ObservedRun] = ()
    """The grids that this one launched itself, in the order in which they ran, each with its own."""
    stopped: bool = False
    """Whether a fault ended it: the counts are of what had run until then."""

    def descendants(self) -> Iterator[ObservedRun]:
        """The grids that this one launched, and those that they launched."""
        waiting = list(reversed(self.children))
        while waiting:  # a chain of tail launches may be thousands of grids deep
            yield (run := waiting.pop())
            waiting += reversed(run.children)

    @property
    def counters(self) -> Counters:
        """Totals and lines: what was executed, moved and waited for."""
        return self.model.counters

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
        findings = [{"kind": f.kind, "line": f.line, "message": f.message} for f in self.findings]
        return {"kernel": self.kernel, "chip": self.chip, "grid": list(self.grid), "block": list(self.block),
                "shared": self.shared, "counters": self.counters.json(), "occupancy": self.occupancy.json(),
                "predicted": self.predicted.json(), "findings": findings, "stopped": self.stopped}  # fmt: skip

    def __str__(self) -> str:
        from gridstride.virtual.observe.display import text

        return text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from gridstride.virtual.observe.display import html

        return html(self)


@dataclass(frozen=True, slots=True)
class Seen:
    """One grid's Run without its children, whether a fault ended it, and its code's tables."""

    run: ObservedRun
    stopped: bool
    tables: Tables


def observe_one(
    kernel: LoadedKernel, shape: Shape, packed: bytes, *, limit: float | None = None, root: bool = False
) -> Seen:
    """Runs one grid on the observed build, in at most `limit` seconds; `root` where the host launched it."""
    device = kernel.module.device
    grid, block, total = shape.grid, shape.block, shape.blocks
    variant = kernel.variant(block, observed=True)
    cluster = cluster_of(kernel, shape) if variant.tables.clusters else (1, 1, 1)
    team = math.prod(cluster)
    clusters_of_grid = (grid[0] // cluster[0], grid[1] // cluster[1], grid[2] // cluster[2])
    observed = _observed_blocks(clusters_of_grid, team, device)
    session = kernel.prepare(variant, shape, observed)
    kernel.refresh(session)
    _watch_unset(session, variant, device)
    if root and variant.tables.launches:
        kernel.module.launch_queue.open(0)
    stopped: tuple[KernelFinding, ...] = ()
    heap_before = device.heap.use()
    try:
        kernel.run(session, variant, shape, packed, limit=limit)
    except KernelFault as fault:
        stopped = fault.findings
    if device.footprints is not None:
        device.footprints.append(footprint(device.touched, device.shadow, variant.tables.sites))
    counted = _counted(session, variant, observed.count * team, total, device)
    findings = stopped + beside(stopped, reported(kernel, block, session, variant, packed))
    findings += read_only_writes(kernel, (grid, block), variant, packed)
    device.shadow.close(device.touched.bytes)
    extent = variant.tables.static_shared + shape.shared
    model = LaunchModel(kernel, counted, grid, block, extent, multiprocessors=shape.multiprocessors)
    run = ObservedRun(kernel.title, device.chip, grid, block, extent, findings, model, kernel.module.pieces[0].source,
              device.heap.use(heap_before), kernel.module.texts, stopped=bool(stopped))  # fmt: skip
    return Seen(run, bool(stopped), variant.tables)


def _observed_blocks(grid: Dim3, team: int, device: VirtualDevice) -> ObservedBlocks:
    """Of a grid of clusters of `team` blocks: all under the sanitizer, else some. Where somebody gives an order, races
    are what the run is made for.
    """
    blocks = math.prod(grid)
    if device.sanitize:
        return ObservedBlocks(blocks)
    return evenly(grid, team) if device.schedule is None else in_pairs(blocks, device.schedule, team)


def _watch_unset(session: Session, variant: Variant, device: VirtualDevice) -> None:
    """Has reads of global memory checked, where something may be unset."""
    shadow, low, span = device.unset.shadow(device.arena)
    assert variant.tables.counters is not None
    if span or variant.tables.counters.allocates or device.heap.use().live:
        session.watch_unset(shadow, low, span)
        device.heap.watched = True


def _counted(session: Session, variant: Variant, blocks: int, total: int, device: VirtualDevice) -> LaunchCounts:
    raw = np.sum(session.counters, axis=0)
    touched = device.touched.take(total / blocks, stopped=session.stopped())
    assert variant.tables.counters is not None
    return LaunchCounts(raw, variant.tables.counters, blocks, total, touched)
