"""A kernel on the virtual GPU: compiled for each kind of block, launched, and what went wrong in it."""

from __future__ import annotations

import math
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.protocol import Dim3, LaunchError, Shape, Stream
from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.abi.hardware_limits import LANES
from gridstride.virtual.chips import Chip
from gridstride.virtual.errors import source_name
from gridstride.virtual.findings import fault_messages
from gridstride.virtual.findings.cluster_faults import warn_of_exited
from gridstride.virtual.findings.elements import out_of_array, polled_in_array
from gridstride.virtual.findings.finding import KernelFault
from gridstride.virtual.findings.lifetimes import after_free, of_another_gpu
from gridstride.virtual.findings.waiting import outside_a_cooperative_grid
from gridstride.virtual.launch.child_grids import ChildGrids
from gridstride.virtual.launch.linking import ptx_version
from gridstride.virtual.launch.multiprocessors import fill_multiprocessors, workers_of
from gridstride.virtual.lowering.analysis.affine_transfer import BlockShape
from gridstride.virtual.lowering.frame_layout import RECURSIVE_STACK, recursive_stack
from gridstride.virtual.machine.cluster_shape import cluster_of
from gridstride.virtual.machine.observed_blocks import ObservedBlocks, lane_watched
from gridstride.virtual.machine.schedule import IN_TURN, fill
from gridstride.virtual.machine.session import Demand, Session, most_slots, thread_table
from gridstride.virtual.machine.summary import KernelEntry
from gridstride.virtual.machine.variant import Tables, Variant, build
from gridstride.virtual.machine.watch import WATCHER
from gridstride.virtual.ptx.isa import ISA, Class

if TYPE_CHECKING:
    from gridstride.virtual.launch.virtual_module import VirtualModule
    from gridstride.virtual.observe.run import ObservedRun

MOST_IN_A_ROW = 64
"""Blocks that a worker takes at a time from a large grid."""

OBJECT_OPCODES = tuple(f"{name}." for name, row in ISA.items() if row.kind in (Class.TEXTURE, Class.QUERY))
"""How instructions begin that use texture and surface objects."""

MANY_WARPS = 64
"""Warps in a grid from which on more than one thread runs it: waking a thread costs what some warps cost."""

MOST_PARAMETERS, MOST_PARAMETERS_BEFORE = 32_764, 4_352
"""Bytes of parameters that a kernel may have, from PTX 8.1 on and before (PTX ISA, "Kernel Function Parameters")."""


def resident_blocks(chip: Chip, shape: Shape, shared: int, title: str, *, team: int = 1) -> int:
    """Blocks with so many bytes of shared memory that the chip holds at a time, whole clusters of `team` of them;
    LaunchError where a cooperative grid has more.
    """
    holding = chip.part(shape.multiprocessors).properties.multiprocessors
    resident = chip.resident_blocks(shape.threads, shared) * holding // team * team
    if shape.cooperative and shape.blocks > resident:
        raise LaunchError(
            f"{title}: a cooperative grid of {shape.blocks} blocks does not fit {_where(shape, chip)}, which holds "
            f"{resident} blocks of {shape.threads} threads with {shared} bytes of shared memory at a time"
        )
    return resident


def _where(shape: Shape, chip: Chip) -> str:
    part = "" if shape.multiprocessors is None else f"{len(shape.multiprocessors)} multiprocessors of "
    return f"{part}{chip.properties.name}"


class VirtualKernel:
    """An entry of a module; compiled once for each kind of block shape it is launched with."""

    def __init__(self, module: VirtualModule, entry: KernelEntry) -> None:
        self.module, self.name, self.title = module, entry.name, source_name(entry.name)
        self.parameters = entry.parameters
        self.labels: tuple[str, ...] = ()
        """What the source calls the parameters, where somebody knows."""
        self.elements: tuple[int, ...] = ()
        """Bytes of what each pointer points to, 0 where it is not known."""
        self.static_shared, self.number = entry.static_shared, entry.number
        self.local_bytes = entry.local
        self._most_threads, self._exact = entry.most_threads, entry.exact
        self.required_cluster, self.max_cluster_rank = entry.cluster, entry.most_cluster
        self.needs_cluster = "explicitcluster" in entry.flags
        self.grid_of_clusters = "blocksareclusters" in entry.flags
        self._variants: dict[tuple[BlockShape, bool, int], Variant] = {}
        self._last: tuple[Any, ...] | None = None

    @property
    def parameter_bytes(self) -> int:
        """How many bytes of packed parameters a launch takes."""
        return self.parameters[-1].offset + self.parameters[-1].size if self.parameters else 0

    @property
    def max_threads(self) -> int:
        """Most threads a block of this kernel may have."""
        most = self.module.device.properties.max_threads_per_block
        return most if self._most_threads is None else min(most, self._most_threads)

    def variant(self, block: Dim3, *, observed: bool = False) -> Variant:
        """The code for a block shape."""
        shape = BlockShape.of(*block)
        variant = self._built(shape, observed, RECURSIVE_STACK)
        stack = recursive_stack(self.module.device.stack)
        deeper = stack > RECURSIVE_STACK and variant.tables.recursive and variant.tables.local_size > 0
        return self._built(shape, observed, stack) if deeper else variant

    def _built(self, shape: BlockShape, observed: bool, stack: int) -> Variant:
        key = (shape, observed, stack)
        if key not in self._variants:
            self._variants[key] = build(lambda: self.module.parsed, self.module.text_digest, self.name, *key)
        return self._variants[key]

    def spins(self, block: Dim3) -> bool:
        """Whether its observed code waits in a loop for what others write."""
        return self.variant(block, observed=True).tables.spins

    def constants(self, block: Dim3) -> list[tuple[int, int]]:
        """Address and bytes of the module's __constant__ variables that its observed code names."""
        module = self.module
        if not module.constant_bytes:
            return []
        named = self.variant(block, observed=True).tables.symbols
        variables = module.parsed.variables
        return [module.global_address(name) for name in named if name in variables and variables[name].space == "const"]

    def launch(self, shape: Shape, packed: bytes, stream: Stream | None = None) -> None:
        """Runs the grid to its end; KernelFault says what was wrong."""
        try:
            self._launch(shape, packed)
        except KernelFault as fault:
            self.module.device.keep(fault)
            raise

    def _launch(self, shape: Shape, packed: bytes) -> None:
        if self.module.device.sanitize:
            from gridstride.virtual.launch.observed_launch import observe

            run = observe(self, shape, packed)
            if run.findings:
                raise KernelFault(run.findings, self.module.source_of(run.findings))
            return
        with self.module.device.lock:
            variant = self.variant(shape.block)
            self._leaves_no_trace()
            session = self._session(variant, shape)
            if not variant.tables.launches:
                self.run(session, variant, shape, packed)
                return
            self.module.launch_queue.open(0)
            self.run(session, variant, shape, packed)
            child_grids = ChildGrids(self.module.launch_queue, observed=False, limit=self.module.device.time_limit)
            child_grids.run(self, shape, variant.tables)

    def _leaves_no_trace(self) -> None:
        """The fast build does not note what it writes: from now on all that is there counts as set."""
        device = self.module.device
        if not device.unset.empty:
            device.unset.all_set()
        device.heap.all_set()

    def run_child(self, shape: Shape, packed: bytes, limit: float) -> Tables:
        """Runs a grid that another one launched, in at most `limit` seconds."""
        variant = self.variant(shape.block)
        self.run(self._session(variant, shape), variant, shape, packed, limit=limit)
        return variant.tables

    def observe(self, shape: Shape, packed: bytes) -> ObservedRun:
        """Runs the grid on the observed build: the run holds counters and findings.

        Of large grids some blocks stand for all, and races are looked for among those.
        """
        from gridstride.virtual.launch.observed_launch import observe

        run = observe(self, shape, packed)
        if run.findings:
            self.module.device.faults.append(KernelFault(run.findings, self.module.source_of(run.findings)))
        return run

    # -- inside -------------------------------------------------------------------------------------------------------
    def _session(self, variant: Variant, shape: Shape) -> Session:
        key = (variant, shape, self.module.device.schedule)
        if self._last is not None and self._last[0] == key:
            session: Session = self._last[1]
        else:
            session = self.prepare(variant, shape)
            self._last = (key, session)
        self.refresh(session)
        return session

    def prepare(self, variant: Variant, shape: Shape, observed: ObservedBlocks | None = None) -> Session:
        """A session with everything filled in that does not change from launch to launch.

        `observed`: which blocks are; None on the fast build.
        """
        if self._exact and shape.block != self._exact:
            required, actual = (" x ".join(map(str, extents)) for extents in (self._exact, shape.block))
            raise LaunchError(
                f"{self.title}: the kernel takes blocks of {required} threads (.reqntid), block is {actual}"
            )
        self._check_parameters()
        device, tables = self.module.device, variant.tables
        total, threads = shape.blocks, shape.threads
        warps = -(-threads // LANES)
        extent = tables.static_shared + shape.shared
        team = cluster_of(self, shape)
        size = math.prod(team) if tables.clusters else 0
        slots = self._slots(tables, shape, extent, size or 1)
        workers = min(device.workers, total // (size or 1)) if total * warps >= MANY_WARPS else 1
        workers = workers if device.schedule is None else 1
        workers = workers_of(shape, workers, (piece.ptx for piece in self.module.pieces))
        counters = tables.counters.size if tables.counters else 0
        shift = tables.counters.unit.bit_length() - 1 if tables.counters else -1
        bytes_given = self.parameter_bytes
        demand = Demand(
            warps, slots, extent, workers, counters, observed is not None, shift, size, tables.spins, bytes_given
        )
        session = Session(tables, demand, device.rooms)
        if observed:
            session.watch(device.touched, device.model.l1_lines(threads, extent))
        record = session.launch
        record["cluster"], record["cluster_size"] = team, size
        record["explicit_cluster"] = (shape.cluster or self.required_cluster) is not None
        record["grid"], record["ntid"] = shape.grid, shape.block
        record["warps_per_block"], record["threads_per_block"], record["blocks"] = warps, threads, total
        record["shared_size"], record["local_size"] = extent, tables.local_size
        record["in_a_row"] = 1 if slots > 1 else max(1, min(MOST_IN_A_ROW, total // (workers * 32)))
        if observed:
            record["sample"], record["near_first"], record["near"] = observed.step, observed.first, observed.near
            record["lanes_all"] = device.seed is not None
            record["lanes_watched"] = lane_watched(device.schedule or IN_TURN, observed)
        fill(record, device.schedule or IN_TURN, total // (size or 1), warps)
        record["alone_on_device"] = workers == 1 and not tables.timed
        record["multiprocessors"] = device.properties.multiprocessors
        session.multiprocessors = fill_multiprocessors(record, shape)
        record["output"], record["output_size"] = device.output.address, device.output.size
        record["heap"], record["stack"] = device.heap.address, device.stack
        record["origin"] = device.origin_of(self.title, tables, shape.block)
        if any(name.startswith(OBJECT_OPCODES) for name in tables.site_names):
            record["objects"] = device.objects.address
        if shape.cooperative:
            record["envreg"] = divmod(device.grid_workspace, 1 << 32)
        session.thread_table = thread_table(shape.block)
        record["tids"] = session.thread_table.ctypes.data
        if tables.counters:
            record["shadow"] = device.shadow.open(tables.counters.global_unit)
        session.symbol_table = np.array([self.module.address(s) for s in tables.symbols] or [0], np.uint64)
        record["table"] = session.symbol_table.ctypes.data
        record["param_size"] = self.parameter_bytes
        if tables.launches:
            record["launches"] = self.module.launch_queue.address
        return session

    def _check_parameters(self) -> None:
        version = min(ptx_version(piece.ptx) for piece in self.module.pieces)
        most = MOST_PARAMETERS if version >= (8, 1) else MOST_PARAMETERS_BEFORE
        if self.parameter_bytes > most:
            since = f" before PTX 8.1, this is {version[0]}.{version[1]}" if version < (8, 1) else ""
            raise LaunchError(
                f"{self.title}: {self.parameter_bytes:,} bytes of parameters are above the {most:,} that a kernel may "
                f"have{since}: put them in an array and pass that"
            )

    def _slots(self, tables: Tables, shape: Shape, shared: int, team: int) -> int:
        """Blocks with so many bytes that a worker holds at a time, whole clusters of `team` of them."""
        schedule = self.module.device.schedule
        parts = schedule is not None and schedule.interleaves and tables.counters and tables.counters.gives_way
        if not (tables.spins or shape.cooperative or parts):
            return team
        resident = resident_blocks(self.module.device.model, shape, shared, self.title, team=team)
        most = most_slots(tables, -(-shape.threads // LANES)) // team * team
        if schedule is not None and schedule.resident is not None and not shape.cooperative:
            most = min(most, schedule.resident // team * team)
        return max(team, min(shape.blocks, resident, most))

    def refresh(self, session: Session) -> None:
        """Gives a session the allocations of now, where they changed."""
        arena = self.module.device.arena
        if arena.generation != session.generation:
            session.allocations = arena.table()
            session.launch["allocations"] = session.allocations.ctypes.data
            session.launch["allocation_count"] = len(session.allocations)
            session.forget_bounds(arena.generation)

    def run(
        self, session: Session, variant: Variant, shape: Shape, packed: bytes, *, limit: float | None = None
    ) -> None:
        """Runs a prepared grid, by itself; `limit` in seconds where it is not the device's."""
        device, record = self.module.device, session.launch
        session.take_parameters(packed)
        session.restart()
        device.output.clear()
        device.heap.record["lock"] = 0  # a launch that was stopped may have held it
        if shape.cooperative:
            device.reset_workspace()
        record["entry"] = variant.code.kernel
        better = variant.replacement.watch(record) if variant.replacement else nullcontext()
        threads = len(session.addresses)
        with WATCHER.watch(record, device.time_limit if limit is None else limit, threads) as watched, better:
            if threads == 1:
                device.engine_run(session.addresses[0])
            else:
                device.helpers.run(session.addresses)
        device.output.show(record[0], stopped=session.stopped())
        if record["exited"][0]:
            warn_of_exited(self, record[0], variant.tables)
        session.time_limit = watched.limit
        if session.stopped():
            self._raise(session, variant, shape.block)

    def _raise(self, session: Session, variant: Variant, block: Dim3) -> None:
        fault_messages.complete(session)
        if int(session.launch["fault_kind"][0]) == FAULT["interrupted"]:
            raise KeyboardInterrupt
        device = self.module.device
        finding = fault_messages.finding(self.title, block, session, variant.tables, device)
        packed, site = session.params.tobytes()[session.params_skip :], int(session.launch["fault_site"][0])
        finding = of_another_gpu(self, after_free(self, finding, packed))
        sites = variant.tables.sites
        finding = out_of_array(self, finding, sites[site] if site < len(sites) else None, packed)
        finding = polled_in_array(self, finding, packed)
        if finding.kind == "trap" and not session.launch["envreg"].any():
            finding = outside_a_cooperative_grid(finding, self.module.parsed)
        raise KernelFault((finding,), self.module.source_of((finding,)))
