"""One observed launch with all grids that it launches itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gridstride.protocol import Shape
from gridstride.virtual.launch.child_grids import ChildGrids
from gridstride.virtual.observe.run import ObservedRun, observe_one

if TYPE_CHECKING:
    from gridstride.virtual.launch.virtual_kernel import VirtualKernel


def observe(kernel: VirtualKernel, shape: Shape, packed: bytes) -> ObservedRun:
    """Runs a kernel on the observed build. What the run did wrong is in `findings`; nothing is raised for it."""
    module = kernel.module
    with module.device.lock:
        observed = observe_one(kernel, shape, packed, root=True)
        if not observed.tables.launches or observed.stopped:
            return observed.run
        child_grids = ChildGrids(module.launch_queue, observed=True, limit=module.device.time_limit)
        children = child_grids.run(kernel, shape, observed.tables)
    below = {(f.kind, f.kernel, f.line): f for f in reversed(child_grids.findings)}
    return replace(observed.run, findings=(*observed.run.findings, *reversed(below.values())), children=children)
