"""A rung of a ladder as something to launch: scenes are drawn by the kernels that the judge has passed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gridstride as gs
from gridstride.judge.find import find
from gridstride.judge.header import MULTIPROCESSORS


class Rung:
    """One rung of a problem for one set of sizes, on the device in use; the last one unless another is named."""

    def __init__(self, problem: str, sizes: Mapping[str, int], name: str | None = None) -> None:
        file = find(problem).rungs((name,) if name else ())[-1]
        assert file.launch is not None, f"{file.filename} has no launch"
        assert file.entry is not None, f"{file.filename} has no entry"
        self._kernel = gs.cuda(file.source, filename=file.filename)[file.entry]
        self._shape = file.launch.shape({**sizes, MULTIPROCESSORS: gs.device().properties.multiprocessors})
        self._cooperative = file.launch.cooperative

    def __call__(self, *args: Any) -> None:
        """Launch with the problem's parameters, in their order."""
        shape = self._shape
        self._kernel.launch(
            grid=shape.grid, block=shape.block, args=args, shared=shape.shared, cooperative=self._cooperative
        )
