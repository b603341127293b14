"""NumPy arrays in memory that kernels reach where it is: pinned and managed."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.choice import device as choose
from gridstride.device.creation import Shape, dimensions
from gridstride.device.current import refuse_in_capture
from gridstride.device.element_types import element_type
from gridstride.device.mapped import MappedMemory, map_memory, unmap_memory

if TYPE_CHECKING:
    from gridstride.protocol import Device


def pinned(shape: Shape, dtype: Any = np.float32, *, device: Device | str | None = None) -> np.ndarray[Any, Any]:
    """A NumPy array of zeros in the host's memory, which stays in place, so that a GPU reaches it over the bus.

    Kernels take it, its contiguous slices and tensors that share it without a copy; copies from and to it go beside
    other work in a stream. A launch that has it as its argument returns before a physical GPU has run the kernel:
    synchronize before reading it. "bfloat16" gives its bits, uint16. OutOfDeviceMemory where it cannot be had.
    """
    chosen = choose(device)
    return _array("pinned", shape, dtype, chosen, chosen.allocate_pinned, chosen.free_pinned)


def managed(shape: Shape, dtype: Any = np.float32, *, device: Device | str | None = None) -> np.ndarray[Any, Any]:
    """A NumPy array of zeros in memory that is the host's and the device's; a physical GPU moves its pages to who uses
    them. As an argument of kernels it is what `pinned` is. OutOfDeviceMemory where it cannot be had.
    """
    chosen = choose(device)
    return _array("managed", shape, dtype, chosen, chosen.allocate_managed, chosen.free)


def _array(
    what: str, shape: Shape, dtype: Any, device: Device, allocate: Callable[[int], int], free: Callable[[int], None]
) -> np.ndarray[Any, Any]:
    refuse_in_capture(f"gs.{what}", "make it before the capture")
    sizes, (held, _) = dimensions(what, shape), element_type(dtype)
    nbytes = prod(sizes) * held.itemsize
    if not nbytes:
        return np.zeros(sizes, held)
    address = allocate(nbytes)
    block = MappedMemory(address, nbytes)
    map_memory(device, address, nbytes)
    # Not at exit: others may still use it then, and the driver takes its memory with it.
    weakref.finalize(block, _give_back, device, free, address).atexit = False
    memory = np.asarray(block)
    memory[...] = 0
    return memory.view(held).reshape(sizes)


def _give_back(device: Device, free: Callable[[int], None], address: int) -> None:
    unmap_memory(address)
    device.abandon(free, address)
