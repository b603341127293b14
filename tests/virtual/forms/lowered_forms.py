"""Notes which instructions each test has lowered, into the folder that GRIDSTRIDE_LOWERED_FORMS names."""

from __future__ import annotations

import atexit
import json
import os
from collections import defaultdict
from pathlib import Path

from gridstride.virtual.lowering import kernel
from gridstride.virtual.lowering.function import Lowering
from gridstride.virtual.lowering.program import Emitter
from gridstride.virtual.ptx.module import Instruction

FOLDER = "GRIDSTRIDE_LOWERED_FORMS"


def install() -> None:
    """Wraps every family for the rest of the process; what was seen is written when it ends."""
    seen: dict[str, set[str]] = defaultdict(set)

    def wrapped(emitter: Emitter) -> Emitter:
        def lower(cx: Lowering, ins: Instruction) -> None:
            emitter(cx, ins)
            seen[os.environ.get("PYTEST_CURRENT_TEST", "").split("[")[0].split(" ")[0]].add(ins.name)

        return lower

    def write() -> None:
        found = {Path(test).name: sorted(names) for test, names in seen.items()}
        (Path(os.environ[FOLDER]) / f"{os.getpid()}.json").write_text(json.dumps(found))

    kernel.EMITTERS = {opcode: wrapped(emitter) for opcode, emitter in kernel.EMITTERS.items()}
    atexit.register(write)
