"""Host memory that kernels reach where it is: what pinned and managed arrays registered, by address.

An array is known by where it lies, so that slices of it, and tensors that share it, are known too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
    end = address + nbytes
    if any(owner is device and start <= address and end <= start + size for start, (size, owner) in blocks):
        return True
    holds = getattr(device, "holds", None)  # of a virtual one, whose memory all is the host's
    return holds is not None and bool(holds(address, nbytes))


class MappedMemory:
    """Memory at an address as NumPy takes it, `np.asarray(block)` for bytes: such arrays, and views of them, hold on to
    the block, and the block to the memory's owner.
    """

    __slots__ = ("__array_interface__", "__weakref__", "_owner")

    def __init__(self, address: int, nbytes: int, owner: object = None) -> None:
        self.__array_interface__: dict[str, Any] = {
            "version": 3, "shape": (nbytes,), "typestr": "|u1", "data": (address, False)
        }  # fmt: skip
        self._owner = owner
