"""Arrays that live on a device."""

from __future__ import annotations

import operator
import weakref
from contextlib import suppress
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.choice import device as choose
from gridstride.device.views import host_array
from gridstride.protocol import DeviceError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gridstride.protocol import Device


class DeviceArray:
    """A C-contiguous array in device memory, freed when the last reference goes.

    On a physical GPU it is also what PyTorch, CuPy and Numba take without a copy (`__cuda_array_interface__`).
    """

    __slots__ = ("__weakref__", "_owner", "address", "device", "dtype", "dtype_name", "nbytes", "shape")

    def __init__(
        self, device: Device, address: int, shape: tuple[int, ...], dtype: np.dtype[Any], *, owner: object = None
    ) -> None:
        self.device = device
        self.address = address
        self.shape = shape
        self.dtype = dtype
        self.dtype_name = dtype.name  # NumPy builds the name anew at each asking, and every launch wants it
        self.nbytes = prod(shape) * dtype.itemsize
        self._owner = owner  # keeps memory alive that something else frees

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return prod(self.shape)

    @property
    def strides(self) -> tuple[int, ...]:
        """Bytes from one element to the next along each dimension, in C order."""
        return tuple(self.dtype.itemsize * prod(self.shape[axis + 1 :]) for axis in range(self.ndim))

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self.device.kind != "physical":
            raise AttributeError(f"this array is on {self.device.name}, no other library can reach it: use .numpy()")
        return {
            "version": 3,
            "shape": self.shape,
            "typestr": self.dtype.str,
            "data": (self.address, False),
            "strides": None,
        }

    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy in host memory."""
        host = np.empty(self.shape, self.dtype)
        if host.nbytes:
            self.device.copy_out(host, self.address)
        return host

    def copy_from(self, host: object) -> DeviceArray:
        """Overwrite the array with `host`, of the same shape and dtype; ValueError else. Returns itself."""
        values = _from_host(host)
        if values.shape != self.shape or values.dtype != self.dtype:
            raise ValueError(
                f"copy_from: {values.dtype}{list(values.shape)} given, {self.dtype}{list(self.shape)} needed"
            )
        if values.nbytes:
            self.device.copy_in(self.address, values)
        return self

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        if copy is False:
            raise ValueError("a device array cannot become a NumPy array without a copy")
        host = self.numpy()
        return host if dtype is None else host.astype(dtype, copy=False)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a device array without dimensions has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"DeviceArray({self.dtype}{list(self.shape)} on {self.device.name})"


def to_device(host: object, *, device: Device | str | None = None) -> DeviceArray:
    """A copy of a NumPy array, CPU tensor or nested sequence on the device."""
    values = _from_host(host)
    array = _allocate(values.shape, values.dtype, choose(device))
    return array.copy_from(values)


def empty(
    shape: int | tuple[int, ...], dtype: DTypeLike = np.float32, *, device: Device | str | None = None
) -> DeviceArray:
    """An array on the device whose values are whatever the memory held."""
    dimensions = _dimensions(shape)
    if any(each < 0 for each in dimensions):
        raise ValueError(f"empty: shape {dimensions} has a negative dimension")
    return _allocate(dimensions, np.dtype(dtype), choose(device))


def _dimensions(shape: Any) -> tuple[int, ...]:
    try:
        return tuple(map(operator.index, shape if np.iterable(shape) else (shape,)))
    except TypeError:
        raise TypeError(f"empty: shape {shape!r} is neither a whole number nor a tuple of them") from None


def _allocate(shape: tuple[int, ...], dtype: np.dtype[Any], device: Device) -> DeviceArray:
    _check_dtype(dtype)
    nbytes = prod(shape) * dtype.itemsize
    if not nbytes:
        return DeviceArray(device, 0, shape, dtype)
    array = DeviceArray(device, device.allocate(nbytes), shape, dtype)
    # Not at exit: the driver may be gone by then, and takes its memory with it.
    weakref.finalize(array, _free, device, array.address).atexit = False
    return array


def _free(device: Device, address: int) -> None:
    with suppress(DeviceError):  # the context is lost, and its memory with it; a finaliser has nobody to tell
        device.free(address)


def _from_host(host: object) -> np.ndarray[Any, Any]:
    values = host_array(host)
    array = np.asarray(host) if values is None else values
    _check_dtype(array.dtype)
    return np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray turns () into (1,)


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.hasobject or not dtype.isnative or dtype.kind in "SUMm":
        raise ValueError(f"dtype {dtype} cannot go to a device: it holds text, times, objects or a foreign byte order")
