"""Copies between the host and a device: to which stream they go, and what of them a graph may hold.

A copy is done when the call returns, but in a stream that was named or entered a physical GPU's copies to and from
pinned or managed memory, and those within the device, only begin.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.current import capturing, in_stream
from gridstride.device.mapped import is_mapped
from gridstride.device.streams import as_stream
from gridstride.protocol import DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from gridstride.protocol import Device


def copy_in(device: Device, address: int, host: np.ndarray[Any, Any], stream: Any, *, keep: object) -> None:
    """Copy a C-contiguous host array to the device; `keep` owns the memory there."""
    _give(device, functools.partial(device.copy_in, address, host), host, stream, keep)


def copy_out(device: Device, host: np.ndarray[Any, Any], address: int, stream: Any, *, keep: object) -> None:
    """Fill a C-contiguous host array from the device; `keep` owns the memory there."""
    _give(device, functools.partial(device.copy_out, host, address), host, stream, keep)


def copy_within(device: Device, target: int, source: int, nbytes: int, stream: Any, *, keep: object) -> None:
    """Copy from one place on the device to another; `keep` owns the memory."""
    _give(device, functools.partial(device.copy_within, target, source, nbytes), None, stream, keep)


def _give(
    device: Device, copy: Callable[[], None], host: np.ndarray[Any, Any] | None, stream: Any, keep: object
) -> None:
    graph = capturing(device)
    if graph is None:
        with in_stream(device, None if stream is None else as_stream(device, stream)):
            copy()
        return
    if stream is not None:
        raise DeviceError(f"stream={stream!r} in gs.capture(): leave it out, graph.launch(stream) says where to run")
    if host is not None and not is_mapped(device, host.ctypes.data, host.nbytes):
        raise DeviceError(
            f"gs.capture(): a copy of {host.dtype}{list(host.shape)} in ordinary host memory cannot be captured: copy "
            "it before or after, or keep it in gs.pinned(shape, dtype)"
        )
    graph.add(copy, keep=(keep, host))
