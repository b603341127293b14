"""A PTX module on the virtual GPU: its variables in the arena, its kernels ready to launch."""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.protocol import DeviceProperties, Dim3, LaunchError, Stream
from gridstride.virtual.errors import UnsupportedTarget, source_name
from gridstride.virtual.lowering.transfer import BlockShape
from gridstride.virtual.machine import faults
from gridstride.virtual.machine.layout import FAULT, LANES
from gridstride.virtual.machine.lifetimes import after_free
from gridstride.virtual.machine.session import Demand, Session, most_slots, thread_table
from gridstride.virtual.machine.summary import Entry, Placed, summary
from gridstride.virtual.machine.variant import Variant, build, digest
from gridstride.virtual.machine.waiting import outside_a_cooperative_grid
from gridstride.virtual.machine.watch import WATCHER
from gridstride.virtual.observe.findings import KernelFault
from gridstride.virtual.ptx import parse
from gridstride.virtual.ptx.module import Module

if TYPE_CHECKING:
    from gridstride.virtual.gpu import VirtualGPU
    from gridstride.virtual.observe.run import Run

MOST_IN_A_ROW = 64
"""Blocks that a worker takes at a time from a large grid."""

MANY_WARPS = 64
"""Warps in a grid from which on more than one thread runs it: waking a thread costs what some warps cost."""


class VirtualModule:
    """PTX with its variables allocated. The text is parsed where it is new, or where a kernel must be compiled."""

    def __init__(self, device: VirtualGPU, ptx: str, source: str | None, filename: str) -> None:
        self.device, self.source, self.filename = device, source, filename
        check_target(ptx, device.properties)
        self.text_digest = digest(ptx)
        self._parse: Callable[[], Module] = functools.cache(lambda: parse(ptx, filename=filename))
        self._addresses: dict[str, tuple[int, int]] = {}
        known = summary(self.text_digest, self._parse)
        self._place(known.variables)
        self.kernels: Mapping[str, VirtualKernel] = {e.name: VirtualKernel(self, e) for e in known.entries}

    @property
    def parsed(self) -> Module:
        """The typed module."""
        return self._parse()

    def global_address(self, name: str) -> tuple[int, int]:
        """Address and bytes of a module-scope variable; KeyError when there is none."""
        return self._addresses[name]

    def address(self, key: str) -> int:
        return self._addresses[key][0]

    def _place(self, variables: tuple[Placed, ...]) -> None:
        for v in variables:
            self._addresses[v.key] = (self.device.allocate(max(1, v.size)), v.size)
            self.device.own.add(self.address(v.key))
        for v in variables:
            data = bytearray(v.data.ljust(max(1, v.size), b"\0"))
            for p in v.pointers:
                data[p.offset : p.offset + p.size] = p.value(self.address(p.target))
            self.device.copy_in(self.address(v.key), np.frombuffer(data, np.uint8))

    def release(self) -> None:
        """Gives the variables' memory back."""
        for address, _ in self._addresses.values():
            self.device.free(address)
        self._addresses.clear()

    def __del__(self) -> None:
        if getattr(self, "_addresses", None):
            self.release()


class VirtualKernel:
    """An entry of a module; compiled once for each kind of block shape it is launched with."""

    def __init__(self, module: VirtualModule, entry: Entry) -> None:
        self.module, self.name, self.title = module, entry.name, source_name(entry.name)
        self.parameters = entry.parameters
        self.labels: tuple[str, ...] = ()
        """What the source calls the parameters, where somebody knows."""
        self.static_shared = entry.static_shared
        self._most_threads = entry.most_threads
        self._variants: dict[tuple[BlockShape, bool, bool], Variant] = {}
        self._last: tuple[Any, ...] | None = None

    @property
    def max_threads(self) -> int:
        """Most threads a block of this kernel may have."""
        most = self.module.device.properties.max_threads_per_block
        return most if self._most_threads is None else min(most, self._most_threads)

    def variant(self, block: Dim3, *, observed: bool = False) -> Variant:
        """The code for a block shape."""
        key = (BlockShape.of(*block), observed, observed and self.module.device.seed is not None)
        if key not in self._variants:
            self._variants[key] = build(lambda: self.module.parsed, self.module.text_digest, self.name, *key)
        return self._variants[key]

    def launch(
        self, grid: Dim3, block: Dim3, packed: bytes, shared: int = 0, stream: Stream | None = None,
        cooperative: bool = False, cluster: Dim3 | None = None,
    ) -> None:  # fmt: skip
        """Runs the grid to its end; KernelFault says what was wrong."""
        if cluster is not None and cluster != (1, 1, 1):
            raise LaunchError(f"{self.title}: the virtual GPU has no clusters yet (cluster={cluster})")
        if self.module.device.sanitize:
            from gridstride.virtual.observe.run import observe

            run = observe(self, grid, block, packed, shared, cooperative)
            if run.findings:
                raise KernelFault(run.findings, self.module.source)
            return
        with self.module.device.lock:
            variant = self.variant(block)
            if not self.module.device.unset.empty:
                self.module.device.unset.all_set()
                self.module.device.heap.all_set()
            session = self._session(variant, grid, block, shared, cooperative)
            self.run(session, variant, grid, block, packed)

    def observe(
        self, grid: Dim3, block: Dim3, packed: bytes, shared: int = 0, *, cooperative: bool = False
    ) -> Run:  # fmt: skip
        """Runs the grid on the observed build: the run holds counters and findings."""
        from gridstride.virtual.observe.run import observe

        run = observe(self, grid, block, packed, shared, cooperative)
        if run.findings:
            self.module.device.faults.append(KernelFault(run.findings, self.module.source))
        return run

    # -- inside -------------------------------------------------------------------------------------------------------
    def _session(self, variant: Variant, grid: Dim3, block: Dim3, shared: int, cooperative: bool) -> Session:
        key = (variant, grid, block, shared, cooperative)
        if self._last is not None and self._last[0] == key:
            session: Session = self._last[1]
        else:
            session = self.prepare(variant, grid, block, shared, cooperative)
            self._last = (key, session)
        self.refresh(session)
        return session

    def prepare(
        self, variant: Variant, grid: Dim3, block: Dim3, shared: int, cooperative: bool = False, sample: int = 0
    ) -> Session:
        """A session with everything filled in that does not change from launch to launch.

        `sample`: every so many blocks one is observed; 0 on the fast build.
        """
        device, tables = self.module.device, variant.tables
        total = grid[0] * grid[1] * grid[2]
        threads = block[0] * block[1] * block[2]
        warps = -(-threads // LANES)
        extent = tables.static_shared + shared
        slots = self._slots(variant, total, threads, warps, extent, cooperative)
        workers = min(device.workers, total) if total * warps >= MANY_WARPS else 1
        counters = tables.extra.get("size", 0)
        shift = tables.extra["unit"].bit_length() - 1 if sample else -1
        lanes = device.seed is not None
        demand = Demand(warps, slots, extent, workers, counters, sample, shift, lanes)
        session = Session(tables, demand, device.rooms)
        record = session.launch
        record["entry"] = variant.code.kernel
        record["grid"], record["ntid"] = grid, block
        record["warps_per_block"], record["threads_per_block"], record["blocks"] = warps, threads, total
        record["shared_size"], record["local_size"] = extent, tables.local_size
        record["in_a_row"] = 1 if slots > 1 else max(1, min(MOST_IN_A_ROW, total // (workers * 32)))
        if device.seed is not None:
            record["shift"], record["reversed"] = device.seed % warps, device.seed // warps % 2
        record["multiprocessors"] = device.properties.multiprocessors
        record["output"], record["output_size"] = device.output.address, device.output.size
        record["heap"] = device.heap.address
        record["origin"] = device.origin_of(self.title, tables, block)
        if cooperative:
            record["envreg"] = divmod(device.grid_workspace, 1 << 32)
        session.thread_table = thread_table(block)
        record["tids"] = session.thread_table.ctypes.data
        session.symbol_table = np.array([self.module.address(s) for s in tables.symbols] or [0], np.uint64)
        record["table"] = session.symbol_table.ctypes.data
        layout = self.parameters
        record["param_size"] = layout[-1].offset + layout[-1].size if layout else 0
        return session

    def _slots(self, variant: Variant, total: int, threads: int, warps: int, shared: int, cooperative: bool) -> int:
        if not (variant.tables.spins or cooperative):
            return 1
        chip = self.module.device.model
        resident = chip.resident_blocks(threads, shared) * chip.properties.multiprocessors
        if cooperative and total > resident:
            raise LaunchError(
                f"{self.title}: a cooperative grid of {total} blocks does not fit {chip.properties.name}, which holds "
                f"{resident} blocks of {threads} threads with {shared} bytes of shared memory at a time"
            )
        return min(total, resident, most_slots(variant.tables, warps))

    def refresh(self, session: Session) -> None:
        """Gives a session the allocations of now, where they changed."""
        arena = self.module.device.arena
        if arena.generation != session.generation:
            session.allocations = arena.table()
            session.launch["allocations"] = session.allocations.ctypes.data
            session.launch["allocation_count"] = len(session.allocations)
            session.forget_bounds(arena.generation)

    def run(self, session: Session, variant: Variant, grid: Dim3, block: Dim3, packed: bytes) -> None:
        device, record = self.module.device, session.launch
        ctypes.memmove(session.params_address, packed, len(packed))
        session.restart()
        device.heap.record["lock"] = 0  # a launch that was stopped may have held it
        if record["envreg"].any():
            device.reset_workspace()
        with WATCHER.watch(record, device.time_limit):
            if len(session.addresses) == 1:
                device.engine_run(session.addresses[0])
            else:
                device.helpers.run(session.addresses)
        device.output.show(record[0])
        if session.stopped():
            self._raise(session, variant, block)

    def _raise(self, session: Session, variant: Variant, block: Dim3) -> None:
        faults.complete(session)
        if int(session.launch["fault_kind"][0]) == FAULT["interrupted"]:
            raise KeyboardInterrupt
        device = self.module.device
        found = faults.finding(self.title, block, session, variant.tables, device)
        found = after_free(self, found, session.params.tobytes()[session.params_skip :])
        if found.kind == "trap" and not session.launch["envreg"].any():
            found = outside_a_cooperative_grid(found, self.module.parsed)
        raise KernelFault((found,), self.module.source)


def check_target(ptx: str, chip: DeviceProperties) -> None:
    """Refuses PTX for another architecture, as the driver would: newer, or another chip's own (`sm_90a`)."""
    found = re.search(r"^\s*\.target\s+sm_(\d+)([af]?)", ptx, re.MULTILINE)
    if found is None:
        return  # the parser says what is missing
    wanted = divmod(int(found[1]), 10)
    own = chip.compute_capability
    if wanted > own or (found[2] == "a" and wanted != own):
        raise UnsupportedTarget(
            f"the PTX is for sm_{found[1]}{found[2]}, {chip.name} has {chip.arch}: compile it for {chip.arch}, or take "
            "another chip with gs.VirtualGPU(…)"
        )
