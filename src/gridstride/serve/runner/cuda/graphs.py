"""Work that is queued again and again, from CUDA graphs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Step = Callable[[], None]


class GraphRecorder:
    """Records steps as graphs that share memory: they are replayed one after the other, on one stream.

    On a CPU a step is its own record. What a step leaves to be read lies in tensors that were there before.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._pool: Any = None
        self._side: torch.cuda.Stream | None = None  # one: cuBLAS keeps a workspace of 32 MiB for each stream

    def record(self, step: Step) -> Step:
        """The step as one launch. It runs once before, so that every kernel is compiled and loaded."""
        if self._device.type != "cuda":
            return step
        side = self._side = self._side or torch.cuda.Stream(self._device)
        main = torch.cuda.current_stream(self._device)
        side.wait_stream(main)
        with torch.cuda.stream(side):
            step()
        main.wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
            step()
        self._pool = graph.pool()
        return graph.replay
