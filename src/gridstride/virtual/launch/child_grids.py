"""Grids that grids launched: run after their parent in the order of its streams, each with all that it launches itself.

A child may begin as soon as it is launched, and must be through before its parent counts as complete. Here it begins at
the latest moment allowed, when the parent has ended: what reads a child's results too early never finds them.
"""

from __future__ import annotations

import ctypes
import time
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gridstride.protocol import Dim3, Shape
from gridstride.virtual.abi.grid_launches import COPY_OP, KERNEL
from gridstride.virtual.findings.fault_messages import thread_of
from gridstride.virtual.findings.finding import KernelFault, KernelFinding
from gridstride.virtual.machine.launch_queue import LaunchFailure, LaunchQueue, QueuedOperation, Thread
from gridstride.virtual.machine.variant import Tables

if TYPE_CHECKING:
    from gridstride.virtual.launch.virtual_kernel import VirtualKernel
    from gridstride.virtual.observe.run import ObservedRun


@dataclass(slots=True)
class Grid:
    """A grid that has run and what it still has to start: `queued` in order, tail launches behind all others."""

    kernel: VirtualKernel
    shape: Shape
    tables: Tables
    queued: list[QueuedOperation]
    runs: list[ObservedRun] = field(default_factory=list)

    def call_site(self, thread: Thread) -> tuple[str | None, int | None]:
        """File and line of a thread's call."""
        sites = self.tables.sites
        return (sites[thread.site].file, sites[thread.site].line) if thread.site < len(sites) else (None, None)

    def who(self, thread: Thread) -> tuple[Dim3, Dim3]:
        """%ctaid and %tid."""
        x, y, _ = self.shape.grid
        ctaid = (thread.block % x, thread.block // x % y, thread.block // (x * y))
        return ctaid, thread_of(self.shape.block, thread.warp, thread.lane)


class ChildGrids:
    """Runs what a launch from the host leaves to run, to the last descendant. `observed`: on the observed build, which
    keeps a Run of each grid and reports failures as findings.
    """

    def __init__(self, queue: LaunchQueue, *, observed: bool, limit: float) -> None:
        self.queue, self.observed = queue, observed
        self.limit, self.deadline = limit, time.monotonic() + limit
        self.findings: list[KernelFinding] = []

    def run(self, kernel: VirtualKernel, shape: Shape, tables: Tables) -> list[ObservedRun]:
        """All descendants of a grid that has just run; the Runs of its children (with theirs), where observed."""
        root = self._ended(kernel, shape, tables)
        try:
            self._descend(root)
        except Stopped:
            assert self.findings
        except KernelFault as fault:
            if not self.observed:
                raise
            self.findings += fault.findings
        return root.runs

    def _descend(self, root: Grid) -> None:
        stack = [root]
        while stack:
            parent = stack[-1]
            if not parent.queued:
                stack.pop()
                continue
            operation = parent.queued.pop(0)
            if operation.kind != KERNEL:
                _move(parent, operation)
                continue
            outstanding = sum(len(g.queued) for g in stack)
            stack.append(self._child(parent, operation, outstanding))

    def _ended(self, kernel: VirtualKernel, shape: Shape, tables: Tables) -> Grid:
        operations = self.queue.operations()
        ordered = [o for o in operations if not o.tail] + [o for o in operations if o.tail]
        grid = Grid(kernel, shape, tables, ordered)
        self._report(grid)
        return grid

    def _child(self, parent: Grid, operation: QueuedOperation, outstanding: int) -> Grid:
        time_left = self.deadline - time.monotonic()
        kernel = parent.kernel.module.kernel_number(operation.function)
        if time_left <= 0:
            raise _fault(_too_long(parent, operation, kernel.title, self.limit), parent)
        operation = replace(operation, shape=replace(operation.shape, multiprocessors=parent.shape.multiprocessors))
        self.queue.open(outstanding)
        parent.kernel.module.device.child_grids.add(operation.shape)
        packed = operation.packed[: kernel.parameter_bytes]
        runs: list[ObservedRun] = []
        try:
            if self.observed:
                tables = self._observe(parent, kernel, operation, packed, time_left, runs)
            else:
                tables = kernel.run_child(operation.shape, packed, time_left)
        except KernelFault as fault:
            shared = (_shared_limit(f, kernel.title, self.limit) for f in fault.findings)
            findings = tuple(_with_launcher(f, parent, operation.thread) for f in shared)
            raise KernelFault(findings, fault.source) from None
        child = self._ended(kernel, operation.shape, tables)
        child.runs = runs
        return child

    def _observe(
        self,
        parent: Grid,
        kernel: VirtualKernel,
        operation: QueuedOperation,
        packed: bytes,
        time_left: float,
        runs: list[ObservedRun],
    ) -> Tables:
        """Runs a child on the observed build; its Run joins its parent's, and holds `runs` for its own children."""
        from gridstride.virtual.observe.run import observe_one

        observed = observe_one(kernel, operation.shape, packed, limit=time_left)
        findings = tuple(_with_launcher(f, parent, operation.thread) for f in observed.run.findings)
        parent.runs.append(replace(observed.run, findings=findings, children=runs))
        self.findings += findings
        if observed.stopped:
            raise Stopped
        return observed.tables

    # -- errors that nobody asked for ---------------------------------------------------------------------------------
    def _report(self, child: Grid) -> None:
        failures, total = self.queue.failures()
        ignored = [f for f in failures if not f.seen]
        if not ignored:
            return
        failure = _failed(child, ignored[0], len(ignored) + total - len(failures))
        if self.observed:
            self.findings.append(failure)
        else:
            warnings.warn(str(failure), RuntimeWarning, stacklevel=2)


class Stopped(Exception):
    """A child's fault ended everything; it is among the findings."""


def _move(parent: Grid, operation: QueuedOperation) -> None:
    """A copy or a fill, once both sides are known to lie in device memory."""
    device, size = parent.kernel.module.device, operation.bytes
    sides = [operation.target, *([operation.source] if operation.kind == COPY_OP else [])]
    for address in sides:
        block = device.heap.block(address)
        inside = block is not None and not block.freed and address + size <= block.start + block.size
        if size and not inside and not device.arena.holds(address, size):
            what = "cudaMemcpyAsync" if operation.kind == COPY_OP else "cudaMemsetAsync"
            message = (
                f"{what} of {size} bytes at address {address:#x}, which do not lie in one allocation of global memory "
                "(shared and local memory cannot be copied this way)"
            )
            raise _fault(_finding("out_of_bounds", message, parent, operation.thread, address), parent)
    if operation.kind == COPY_OP:
        ctypes.memmove(operation.target, operation.source, size)
    else:
        ctypes.memset(operation.target, operation.value & 0xFF, size)
    device.unset.written(device.arena, operation.target, size)
    device.heap.written(operation.target, size)


def _fault(finding: KernelFinding, parent: Grid) -> KernelFault:
    return KernelFault((finding,), parent.kernel.module.source_of((finding,)))


def _finding(kind: str, message: str, parent: Grid, thread: Thread, address: int | None = None) -> KernelFinding:
    file, line = parent.call_site(thread)
    block, who = parent.who(thread)
    return KernelFinding(kind, message, parent.kernel.title, file, line, block, who, address)


def _too_long(parent: Grid, operation: QueuedOperation, title: str, limit: float) -> KernelFinding:
    return _finding("timeout", _out_of_time(f"{title} was to start next", limit), parent, operation.thread)


def _shared_limit(finding: KernelFinding, title: str, limit: float) -> KernelFinding:
    """A child's timeout: what it had left need not be what it needs, and there need be no loop in it."""
    if finding.kind != "timeout":
        return finding
    _, _, waits = finding.message.partition("gives it longer)")
    return replace(finding, message=_out_of_time(f"{title} was running", limit) + waits)


def _out_of_time(state: str, limit: float) -> str:
    return (
        f"stopped after {limit:g} s, which grids launched on the device share: {state} "
        "(VirtualGPU(time_limit=…) or GRIDSTRIDE_TIME_LIMIT gives them longer)"
    )


def _with_launcher(finding: KernelFinding, parent: Grid, thread: Thread) -> KernelFinding:
    file, line = parent.call_site(thread)
    block, who = parent.who(thread)
    at = f" in {file}:{line}" if line else ""
    return replace(
        finding, message=f"{finding.message} (launched by {parent.kernel.title}{at}, block {block}, thread {who})"
    )


_WHY = {
    9: "a grid or block dimension is 0 or above the chip's limit, the block has more threads than the kernel may have, "
    "or it asks for more shared memory than a block gets",
    69: "so many launches cannot wait at a time: does what launches itself come to an end? "
    "cudaDeviceSetLimit(cudaLimitDevRuntimePendingLaunchCount) gives room for more, as VirtualGPU(pending_launches=…) "
    "does",
    98: "what is launched is no kernel of this module",
    400: "no such stream in this grid: streams are not handed on to children",
}


def _failed(grid: Grid, failure: LaunchFailure, count: int) -> KernelFinding:
    names = [k.title for k in grid.kernel.module.kernels.values() if k.number == _number(failure.function)]
    what = f"the launch of {names[0]}" if names else "a call of the device runtime"
    why = _WHY.get(failure.code)
    more = f"; {count - 1} more like it" if count > 1 else ""
    message = (
        f"{what} failed with {failure.name} ({failure.text}), and the thread did not ask cudaGetLastError"
        f"{f': {why}' if why else ''}{more}"
    )
    return _finding("failed_launch", message, grid, failure.thread)


def _number(function: int) -> int:
    from gridstride.virtual.abi.grid_launches import FUNCTION_BASE

    return (function - FUNCTION_BASE) // 16 if function else -1
