"""The process of a stranger's program: it locks itself in, then becomes the program.

Started by `programs/confined.py` with one JSON object: what the room is, and the program's order (`programs/child.py`).
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys

from gridstride.judge.sandbox.limits import Limits
from gridstride.judge.sandbox.worker import die_with_parent, lock
from gridstride.programs import child

REFUSED = "refused"
"""The key of what is reported where nothing was run, as the process could not lock itself in."""
_LEAST_MEMORY = 256 << 20  # bytes of the virtual GPU's


def main() -> None:
    """Never comes back."""
    given = json.loads(sys.argv[1])
    order = given["order"]
    faulthandler.disable()
    die_with_parent(given["parent"])
    _warm_up()
    os.environ["GRIDSTRIDE_CACHE"] = given["cache"]  # the program's own, from here on
    order["memory"] = _memory(Limits(**given["limits"]))
    locked = lock(given)
    if not (locked["landlock"] and locked["seccomp"]):
        os.write(order["reports"], json.dumps({REFUSED: locked}).encode() + b"\n")
        os._exit(child.CANNOT_START)
    child.main(order)


def _warm_up() -> None:
    """Load what cannot be loaded once the room is locked, and with the cache that all share the virtual GPU itself."""
    from gridstride.compiler.bindings import load
    from gridstride.programs import board  # noqa: F401
    from gridstride.virtual.machine import engine

    load()
    engine.prepare()


def _memory(limits: Limits) -> int:
    from gridstride.virtual.machine.memory.addresses import affordable

    return affordable(limits.device_memory, least=_LEAST_MEMORY)
