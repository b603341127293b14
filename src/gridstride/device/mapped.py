"""Host memory that kernels reach where it is: what pinned and managed arrays registered, by address.

An array is known by where it lies, so that slices of it, and tensors that share it, are known too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gridstride.protocol import Device

_blocks: dict[int, tuple[int, Device]] = {}  # start -> bytes and whose; few, and each is large


def map_memory(device: Device, address: int, nbytes: int) -> None:
    """Kernels on `device` reach these bytes of the host's."""
    _blocks[address] = (nbytes, device)


def unmap_memory(address: int) -> None:
    """They are given back."""
    _blocks.pop(address, None)


def is_mapped(device: Device, address: int, nbytes: int) -> bool:
    """Whether kernels on `device` reach all of these bytes under the host's own address."""
    blocks = list(_blocks.items()) if _blocks else []  # at once: finalizers of other threads take blocks out
    return any(
        start <= address and address + nbytes <= start + size for start, (size, owner) in blocks if owner is device
    )
