"""Arrays that live on a device."""

from __future__ import annotations

import weakref
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.copies import copy_in, copy_out, copy_within
from gridstride.device.current import refuse_in_capture
from gridstride.device.dlpack import capsule, dlpack_device
from gridstride.device.element_types import BFLOAT16, element_type, from_bfloat16
from gridstride.device.launch.views import held_name, host_array, host_values

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from gridstride.protocol import Device


class DeviceArray:
    """A C-contiguous array in device memory, freed when the last reference goes; its views share its memory.

    Elements of `dtype_name` "bfloat16" are bits in uint16, as NumPy has no such numbers. PyTorch, NumPy and others take
    it without a copy by DLPack; on a physical GPU CuPy and Numba also by `__cuda_array_interface__`.
    """

    __slots__ = ("__weakref__", "_owner", "address", "device", "dtype", "dtype_name", "nbytes", "shape")

    def __init__(
        self,
        device: Device,
        address: int,
        shape: tuple[int, ...],
        dtype: np.dtype[Any],
        *,
        owner: object = None,
        dtype_name: str | None = None,
    ) -> None:
        self.device = device
        self.address = address
        self.shape = shape
        self.dtype = dtype
        self.dtype_name = dtype_name or dtype.name  # NumPy builds a name anew at each asking, every launch wants it
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
        keys = key if isinstance(key, tuple) else (key,)
        if not all(item is None or item is ... or isinstance(item, slice) or _is_integer(item) for item in keys):
            type_name = type(key).__name__
            raise TypeError(
                f"a device array is indexed by whole numbers and slices, not by a {type_name}: d.numpy()[…]"
            )
        # A tuple with an ellipsis never reads an element: with whole numbers alone, NumPy would.
        part = self._shadow()[keys if ... in keys else (*keys, ...)]
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
        extents = shape[0] if len(shape) == 1 else shape
        try:
            return self._part(self._shadow().reshape(extents))
        except ValueError:
            raise ValueError(f"reshape: {self!r} has {self.size} elements, which do not fit {extents!r}") from None

    def view(self, dtype: Any) -> DeviceArray:
        """The same bytes as elements of another dtype; the last dimension becomes longer or shorter."""
        new_dtype, name = element_type(dtype)
        try:
            return self._part(self._shadow().view(new_dtype), name)
        except ValueError:
            raise ValueError(f"view: rows of {self!r} are no whole number of {name} elements") from None

    def _shadow(self) -> np.ndarray[Any, Any]:
        """An array of this one's shape to try indices on, over memory that nobody looks at."""
        element = np.empty(1, self.dtype)
        return np.lib.stride_tricks.as_strided(element, self.shape, self.strides, writeable=False)

    def _part(self, part: np.ndarray[Any, Any], name: str | None = None) -> DeviceArray:
        """The view that a view of the shadow stands for; it keeps this array's memory alive."""
        base = part
        while isinstance(base.base, np.ndarray):
            base = base.base
        offset = part.__array_interface__["data"][0] - base.__array_interface__["data"][0]
        address = self.address + offset if part.size else 0
        return DeviceArray(self.device, address, part.shape, part.dtype, owner=self, dtype_name=name or self.dtype_name)

    def item(self) -> Any:
        """The one element as a Python number; ValueError where there are more."""
        host = self.numpy()
        held_as_bits = self.dtype_name == BFLOAT16 and host.dtype == np.uint16
        return (from_bfloat16(host) if held_as_bits else host).item()

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

    # -- copies --------------------------------------------------------------------------------------------------------
    def numpy(self) -> np.ndarray[Any, Any]:
        """A copy in host memory, once the work of the current stream is done."""
        refuse_in_capture("d.numpy()", "the values are there once graph.launch() has run")
        host = np.empty(self.shape, self.dtype)
        if host.nbytes:
            self.device.copy_out(host, self.address)
        return host

    def copy_from(self, source: object, *, stream: Any = None) -> DeviceArray:
        """Overwrite the array with one of the host's or the same device's, of the same shape and dtype; ValueError
        else. Returns itself; what is done by then is as for `gs.to_device`.
        """
        if isinstance(source, DeviceArray) and source.device is self.device:
            self._check_same("copy_from", source.dtype_name, source.shape)
            if self.nbytes:
                keep = (self, source)
                copy_within(self.device, self.address, source.address, self.nbytes, stream, keep=keep)
            return self
        values, name = host_values(source)
        self._check_same("copy_from", name, values.shape)
        if values.nbytes:
            copy_in(self.device, self.address, values, stream, keep=self)
        return self

    def copy_to(self, host: Any, *, stream: Any = None) -> None:
        """Fill a C-contiguous NumPy array or CPU tensor of the same shape and dtype; ValueError else.

        In a `stream` (or `with stream:`) a copy to pinned memory only begins on a physical GPU; others are done.
        """
        target = host_array(host)
        if target is None:
            raise TypeError(f"copy_to fills NumPy arrays and CPU tensors, a {type(host).__name__} was given")
        self._check_same("copy_to", held_name(host, target), target.shape)
        if not target.flags.c_contiguous or not target.flags.writeable:
            raise ValueError("copy_to: the host's array is not C-contiguous, or it is read-only")
        if target.nbytes:
            copy_out(self.device, target, self.address, stream, keep=self)

    def _check_same(self, what: str, name: str, shape: tuple[int, ...]) -> None:
        bits = {BFLOAT16, "uint16"}
        if shape != self.shape or (name != self.dtype_name and {name, self.dtype_name} != bits):
            raise ValueError(f"{what}: {name}{list(shape)} given, {self.dtype_name}{list(self.shape)} needed")

    def __dlpack_device__(self) -> tuple[int, int]:
        return dlpack_device(self)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: object = None,
        copy: bool | None = None,
    ) -> Any:
        """The array for another library: over the same memory unless `copy`; BufferError where it cannot be.

        `stream` is where that library will work on a physical GPU: it waits for the work that was given before.
        """
        if dl_device is not None and dl_device != dlpack_device(self):
            raise BufferError(
                f"{self!r} is on device {dlpack_device(self)} of DLPack's, {dl_device} was asked for: use .numpy()"
            )
        exported = self
        if copy:
            exported = allocated(self.shape, self.dtype, self.dtype_name, self.device).copy_from(self)
        self.device.give_away(stream)
        return capsule(exported, max_version)

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
        return f"DeviceArray({self.dtype_name}{list(self.shape)} on {self.device.name})"


def _is_integer(index: object) -> bool:
    return isinstance(index, int | np.integer) and not isinstance(index, bool | np.bool_)


def allocated(shape: tuple[int, ...], dtype: np.dtype[Any], name: str, device: Device) -> DeviceArray:
    """An array over fresh memory, which is given back with it; OutOfDeviceMemory."""
    nbytes = prod(shape) * dtype.itemsize
    if not nbytes:
        return DeviceArray(device, 0, shape, dtype, dtype_name=name)
    array = DeviceArray(device, device.allocate(nbytes), shape, dtype, dtype_name=name)
    # Not at exit: the driver may be gone by then, and takes its memory with it.
    weakref.finalize(array, device.abandon, device.free, array.address).atexit = False
    return array
