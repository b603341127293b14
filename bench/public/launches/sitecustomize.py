"""Notes which kernels a program launches: PYTHONPATH holds this folder while bench/public_kernels.py runs one.

A line of JSON for each kernel and each way that a launch of it ended, in the file that GRIDSTRIDE_LAUNCHES names. What
a kernel launches itself is not seen here.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

_FILE = os.environ.get("GRIDSTRIDE_LAUNCHES", "")


def _note() -> None:
    from gridstride.virtual.launch.virtual_kernel import VirtualKernel

    launch = VirtualKernel.launch
    known: set[tuple[str, str]] = set()

    def noted(kernel: VirtualKernel, *given: Any, **named: Any) -> None:
        error = ""
        try:
            launch(kernel, *given, **named)
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"[:600]
            raise
        finally:
            if (kernel.name, error) not in known:
                known.add((kernel.name, error))
                with open(_FILE, "a", encoding="utf-8") as notes:
                    notes.write(json.dumps({"kernel": kernel.name, "error": error}) + "\n")

    VirtualKernel.launch = noted  # type: ignore[method-assign]


if _FILE and "gridstride.programs.process.child" in sys.orig_argv:
    _note()
