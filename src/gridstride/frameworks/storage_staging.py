"""CPU tensors as a kernel's pointers: whole storages go to the device, so that views alias there as they do here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.launch.pointers import HostArgument, Staging
from gridstride.protocol import LaunchError

if TYPE_CHECKING:
    from gridstride.virtual.gpu import VirtualGPU

_ALIGNMENT = 256  # bytes: allocations begin at multiples of it


class StorageStaging(Staging):
    """Device copies of the storages behind CPU tensors, for one launch; copied back by `copy_back`.

    `tensors` maps a parameter's name to its tensor. An address on the device is a multiple of the same powers of two,
    up to 256, as the tensor's on the host, since Triton has compiled for what it saw there.
    """

    def __init__(self, device: VirtualGPU, kernel: str, tensors: dict[str, Any]) -> None:
        self.device = device
        self._pointers = {name: _pointer(kernel, name, tensor) for name, tensor in tensors.items()}
        self._storages = {name: _storage(kernel, name, tensor) for name, tensor in tensors.items()}
        self._starts: list[Any] = [storage for storage in self._storages.values() if storage is not None]
        super().__init__(device, self._starts)

    def address(self, name: str) -> int:
        """Where the first element of a parameter's tensor is on the device; 0 for a tensor without memory."""
        storage = self._storages[name]
        return self._pointers[name] + self._shift[storage.address] if storage is not None else 0

    def remaining(self, name: str) -> int:
        """Bytes from there to the end of the storage."""
        storage = self._storages[name]
        return storage.address + storage.array.nbytes - self._pointers[name] if storage is not None else 0

    def _allocate(self, start: int, nbytes: int) -> int:
        return self.device.allocate(nbytes, lead=start % _ALIGNMENT)


def _pointer(kernel: str, name: str, tensor: Any) -> int:
    """The host address of a tensor's first element, as Triton takes it."""
    try:
        return int(tensor.data_ptr())
    except RuntimeError as error:  # sparse tensors and what a transform of functorch traces have no memory
        raise LaunchError(f"{kernel}: {name} is a {type(tensor).__name__} without memory: {error}") from error


def _storage(kernel: str, name: str, tensor: Any) -> HostArgument | None:
    """All bytes of the storage that a tensor, or what triton.reinterpret wraps, lies in; None where there are none."""
    import torch

    while not isinstance(tensor, torch.Tensor):
        if not hasattr(tensor, "base"):
            raise LaunchError(f"{kernel}: {name} is a {type(tensor).__name__}: pass a CPU tensor")
        tensor = tensor.base
    if tensor.device.type != "cpu":
        raise LaunchError(
            f"{kernel}: {name} is on {tensor.device}, the kernel runs on a virtual GPU: pass a CPU tensor"
        )
    storage = tensor.untyped_storage()
    if not storage.nbytes():
        return None
    array: np.ndarray[Any, Any] = torch.empty(0, dtype=torch.uint8).set_(storage).numpy()
    return HostArgument(array, storage.data_ptr(), True)
