"""The process of a stranger's program: it locks itself in, then becomes the program.

A copy of the fork server's, which is told what the room is and the program's order (`programs/process/child.py`).
"""

from __future__ import annotations

import fcntl
import functools
import importlib
import json
import os
from typing import Any

from gridstride.judge.sandbox.limits import WorkerLimits
from gridstride.judge.sandbox.worker import die_with_parent, lock
from gridstride.programs.process import child

REFUSED = "refused"
"""The key of what is reported where nothing was run, as the process could not lock itself in."""
_LEAST_MEMORY = 256 << 20  # bytes of the virtual GPU's
_MOST_SHARED = 64 << 20  # bytes that a program may register


def become(orders: dict[str, Any]) -> None:
    """Never comes back."""
    order = orders["order"]
    die_with_parent(orders["parent"])
    os.environ["GRIDSTRIDE_CACHE"] = orders["cache"]  # the program's own, from here on
    order["memory"] = _memory(WorkerLimits(**orders["limits"]))
    order["shared"] = _shared()
    locked = lock(orders)
    if not (locked["landlock"] and locked["seccomp"]):
        os.write(order["reports"], json.dumps({REFUSED: locked}).encode() + b"\n")
        os._exit(child.CANNOT_START)
    child.main(order)


def is_warm() -> bool:
    """Whether the virtual GPU is loaded."""
    return bool(warm_up.cache_info().currsize)


_OF_EVERY_PROGRAM = (
    "gridstride.programs.calls.board", "gridstride.programs.process.reports", "gridstride.virtual.gpu",
    "gridstride.virtual.lowering.kernel", "gridstride.virtual.lowering.observed.counting",
)  # fmt: skip
"""Modules that a program needs, those that write its kernels among them: a seventh of a second each time, were they
imported in each program's process."""


@functools.cache
def warm_up() -> None:
    """Load what cannot be loaded once the room is locked, and with the cache that all share the virtual GPU itself."""
    from gridstride.compiler.bindings import load
    from gridstride.virtual.machine import engine

    for module in _OF_EVERY_PROGRAM:
        importlib.import_module(module)
    load()
    engine.prepare()


def _shared() -> int:
    """A descriptor of memory for cudaHostRegister, of a size that stays: a locked process can ask for none that two of
    its addresses show, as none of that would be counted.
    """
    descriptor = os.memfd_create("gridstride registered", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.ftruncate(descriptor, _MOST_SHARED)
    fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return descriptor


def _memory(limits: WorkerLimits) -> int:
    from gridstride.virtual.machine.memory.addresses import affordable

    return affordable(limits.device_memory, least=_LEAST_MEMORY)
