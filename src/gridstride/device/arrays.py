"""Arrays that live on a device."""

from __future__ import annotations

import operator
import weakref
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.choice import device as choose
from gridstride.device.views import host_array

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gridstride.protocol import Device


class DeviceArray:
    """A C-contiguous array in device memory, freed when the last reference goes; its views share its memory.

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

    # -- views ---------------------------------------------------------------------------------------------------------
    def __getitem__(self, key: Any) -> DeviceArray:
        """A view of a part that is contiguous in memory: `d[4]`, `d[2:5]`, `d[1, 8:]`; ValueError for others."""
        each = key if isinstance(key, tuple) else (key,)
        if not all(one is None or one is ... or isinstance(one, slice) or _whole(one) for one in each):
            given = type(key).__name__
            raise TypeError(f"a device array is indexed by whole numbers and slices, not by a {given}: d.numpy()[…]")
        # A tuple with an ellipsis never reads an element: with whole numbers alone, NumPy would.
        part = self._shadow()[each if ... in each else (*each, ...)]
        if not part.flags.c_contiguous:
            raise ValueError(
                f"d[…] of shape {part.shape} has gaps in memory ({self!r}): kernels take contiguous arrays; slice the "
                "first dimension that is not of size 1, or copy: gs.to_device(d.numpy()[…])"
            )
        return self._part(part)

    def __setitem__(self, key: Any, value: object) -> None:
        raise TypeError("a device array is filled by copies: d[key].copy_from(host), of the same shape and dtype")

    def reshape(self, *shape: int | tuple[int, ...]) -> DeviceArray:
        """The same elements under another shape, one of whose sizes may be -1; ValueError where they do not fit."""
        wanted = shape[0] if len(shape) == 1 else shape
        try:
            return self._part(self._shadow().reshape(wanted))
        except ValueError:
            raise ValueError(f"reshape: {self!r} has {self.size} elements, which do not fit {wanted!r}") from None

    def view(self, dtype: DTypeLike) -> DeviceArray:
        """The same bytes as elements of another dtype; the last dimension becomes longer or shorter."""
        other = np.dtype(dtype)
        _check_dtype(other)
        try:
            return self._part(self._shadow().view(other))
        except ValueError:
            raise ValueError(f"view: rows of {self!r} are no whole number of {other} elements") from None

    def _shadow(self) -> np.ndarray[Any, Any]:
        """An array of this one's shape to try indices on, over memory that nobody looks at."""
        one = np.empty(1, self.dtype)
        return np.lib.stride_tricks.as_strided(one, self.shape, self.strides, writeable=False)

    def _part(self, part: np.ndarray[Any, Any]) -> DeviceArray:
        """The view that a view of the shadow stands for; it keeps this array's memory alive."""
        base = part
        while isinstance(base.base, np.ndarray):
            base = base.base
        offset = part.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        address = self.address + offset if part.size else 0
        return DeviceArray(self.device, address, part.shape, part.dtype, owner=self)

    def item(self) -> Any:
        """The one element as a Python number; ValueError where there are more."""
        return self.numpy().item()

    def __float__(self) -> float:
        return float(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def _no_arithmetic(self, other: object = None) -> Any:
        raise TypeError(
            "a device array does no arithmetic: copy it to the host (d.numpy() + 1), or let a kernel do it there"
        )

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = _no_arithmetic
    __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = __matmul__ = __rmatmul__ = _no_arithmetic
    __neg__ = __pos__ = __abs__ = __iadd__ = __isub__ = __imul__ = __itruediv__ = _no_arithmetic

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            return object.__getattribute__(self, name)  # what other libraries look for, with the reason it is not there
        way = f"d.numpy().{name}" if hasattr(np.ndarray, name) else "d.numpy() for NumPy's"
        raise AttributeError(f"a device array has no {name}: copy it to the host, {way}", name=name, obj=self)

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


def _whole(index: object) -> bool:
    return isinstance(index, int | np.integer) and not isinstance(index, bool | np.bool_)


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
    weakref.finalize(array, device.abandon, device.free, array.address).atexit = False
    return array


def _from_host(host: object) -> np.ndarray[Any, Any]:
    values = host_array(host)
    array = np.asarray(host) if values is None else values
    _check_dtype(array.dtype)
    return np.ascontiguousarray(array).reshape(array.shape)  # ascontiguousarray turns () into (1,)


def _check_dtype(dtype: np.dtype[Any]) -> None:
    if dtype.hasobject or not dtype.isnative or dtype.kind in "SUMm":
        raise ValueError(f"dtype {dtype} cannot go to a device: it holds text, times, objects or a foreign byte order")
