"""A profiler's trace of some steps, where the configuration asks for one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from gridstride.closed_at_end import ClosedAtEnd


class Profiler(ClosedAtEnd):
    """Records steps first … last (counted from 0) into a Chrome trace; without steps it does nothing."""

    def __init__(self, steps: list[int], file: Path, device: torch.device) -> None:
        self._first, self._last = steps or (-1, -1)
        self._file = file
        self._device = device
        self._running: Any = None

    def at(self, step: int) -> None:
        """Called before each step."""
        if step == self._first and self._running is None:
            kinds = [torch.profiler.ProfilerActivity.CPU]
            if self._device.type == "cuda":
                kinds.append(torch.profiler.ProfilerActivity.CUDA)
            self._running = torch.profiler.profile(activities=kinds)
            self._running.start()
        elif step == self._last + 1:
            self.close()

    def close(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running.export_chrome_trace(str(self._file))
            self._running = None
