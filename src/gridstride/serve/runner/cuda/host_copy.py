"""Arrays that travel between the host and the device: several together to it, one back from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Packet:
    """Named arrays in one piece of memory, here and on the device: one copy brings all over, and none moves.

    Larger elements come first, so that each array is aligned; among equals the order is the given one. The host has two
    of each, which it fills in turn: one may still be on its way when the next is filled.
    """

    def __init__(self, fields: Mapping[str, tuple[str, int]], device: torch.device) -> None:
        """`fields`: name to dtype and length."""
        fields = dict(sorted(fields.items(), key=lambda item: -np.dtype(item[1][0]).itemsize))
        sizes = [np.dtype(dtype).itemsize * length for dtype, length in fields.values()]
        self._device = torch.zeros(sum(sizes), dtype=torch.uint8, device=device)
        self.device_fields: dict[str, Tensor] = {
            name: part.view(getattr(torch, dtype))
            for (name, (dtype, _)), part in zip(fields.items(), self._device.split(sizes), strict=True)
        }
        self._sides = tuple(_HostSide(fields, sizes, pinned=device.type == "cuda") for _ in range(2))
        self._turn = 0

    @property
    def host_fields(self) -> dict[str, NDArray[Any]]:
        """The host's arrays to be filled and sent next; waits where they are on their way from the time before last."""
        side = self._sides[self._turn]
        if side.sent is not None:
            side.sent.synchronize()
            side.sent = None
        return side.arrays

    def put(self, *, fill: int = 0, **arrays: NDArray[np.generic]) -> None:
        """Arrays into the host's side of the fields so named, and `fill` behind them."""
        for name, array in arrays.items():
            view = self.host_fields[name]
            view[: len(array)], view[len(array) :] = array, fill

    def send(self, *, without: int = 0) -> None:
        """Queue the copy of all but the last `without` bytes."""
        side = self._sides[self._turn]
        end = len(side.memory) - without
        self._device[:end].copy_(side.memory[:end], non_blocking=True)
        side.sent = queued_here(self._device.device)
        self._turn ^= 1


class _HostSide:
    def __init__(self, fields: Mapping[str, tuple[str, int]], sizes: list[int], *, pinned: bool) -> None:
        self.memory = torch.zeros(sum(sizes), dtype=torch.uint8, pin_memory=pinned)
        self.sent: torch.cuda.Event | None = None  # when its copy is done
        views = np.split(self.memory.numpy(), np.cumsum(sizes)[:-1])
        self.arrays: dict[str, NDArray[Any]] = {
            name: view.view(dtype) for (name, (dtype, _)), view in zip(fields.items(), views, strict=True)
        }


class HostCopy:
    """A tensor as it is when all that has been queued so far is done; it may be written anew behind that."""

    def __init__(self, tensor: Tensor) -> None:
        on_cpu = tensor.device.type == "cpu"
        self._values = tensor.clone() if on_cpu else tensor.to("cpu", non_blocking=True)
        self._done = queued_here(tensor.device)

    def read(self) -> NDArray[Any]:
        """Waits for it."""
        if self._done is not None:
            self._done.synchronize()
        return self._values.numpy()


def queued_here(device: torch.device) -> torch.cuda.Event | None:
    """Happens when all that has been queued is done; None on a CPU, where it is."""
    if device.type != "cuda":
        return None
    event = torch.cuda.Event()
    event.record(torch.cuda.current_stream(device))
    return event
