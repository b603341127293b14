"""The process of a stranger's program: it locks itself in, then becomes the program.

A copy of the fork server's, which is told what the room is and the program's order (`programs/child.py`).
"""

from __future__ import annotations

import functools
import json
import os
from typing import Any

from gridstride.judge.sandbox.limits import Limits
from gridstride.judge.sandbox.worker import die_with_parent, lock
from gridstride.programs import child

REFUSED = "refused"
"""The key of what is reported where nothing was run, as the process could not lock itself in."""
_LEAST_MEMORY = 256 << 20  # bytes of the virtual GPU's


def become(given: dict[str, Any]) -> None:
    """Never comes back."""
    order = given["order"]
    die_with_parent(given["parent"])
    os.environ["GRIDSTRIDE_CACHE"] = given["cache"]  # the program's own, from here on
    order["memory"] = _memory(Limits(**given["limits"]))
    locked = lock(given)
    if not (locked["landlock"] and locked["seccomp"]):
        os.write(order["reports"], json.dumps({REFUSED: locked}).encode() + b"\n")
        os._exit(child.CANNOT_START)
    child.main(order)


def is_warm() -> bool:
    """Whether the virtual GPU is loaded."""
    return bool(warm_up.cache_info().currsize)


@functools.cache
def warm_up() -> None:
    """Load what cannot be loaded once the room is locked, and with the cache that all share the virtual GPU itself."""
    from gridstride.compiler.bindings import load
    from gridstride.programs import board, reports  # noqa: F401
    from gridstride.virtual import gpu  # noqa: F401
    from gridstride.virtual.lowering.observed import counting  # noqa: F401
    from gridstride.virtual.machine import engine

    load()
    engine.prepare()


def _memory(limits: Limits) -> int:
    from gridstride.virtual.machine.memory.addresses import affordable

    return affordable(limits.device_memory, least=_LEAST_MEMORY)
