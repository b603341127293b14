"""Arrays that travel from the host to the device together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Packet:
    """Named arrays in one piece of memory, here and on the device: one copy brings all over, and none moves.

    Larger elements come first, so that each array is aligned; among equals the order is the given one. Whoever fills
    `here` has waited for what was sent before.
    """

    def __init__(self, fields: Mapping[str, tuple[str, int]], device: torch.device) -> None:
        """`fields`: name to dtype and length."""
        fields = dict(sorted(fields.items(), key=lambda item: -np.dtype(item[1][0]).itemsize))
        sizes = [np.dtype(dtype).itemsize * length for dtype, length in fields.values()]
        self._host = torch.zeros(sum(sizes), dtype=torch.uint8, pin_memory=device.type == "cuda")
        self._device = torch.zeros(sum(sizes), dtype=torch.uint8, device=device)
        views = zip(fields, np.split(self._host.numpy(), np.cumsum(sizes)[:-1]), self._device.split(sizes), strict=True)
        self.here: dict[str, NDArray[Any]] = {}
        self.there: dict[str, Tensor] = {}
        for name, near, far in views:
            dtype = fields[name][0]
            self.here[name], self.there[name] = near.view(dtype), far.view(getattr(torch, dtype))

    def put(self, *, fill: int = 0, **arrays: NDArray[np.generic]) -> None:
        """Arrays into the host's side of the fields so named, and `fill` behind them."""
        for name, array in arrays.items():
            view = self.here[name]
            view[: len(array)], view[len(array) :] = array, fill

    def send(self, *, without: int = 0) -> None:
        """Queue the copy of all but the last `without` bytes."""
        end = len(self._host) - without
        self._device[:end].copy_(self._host[:end], non_blocking=True)
