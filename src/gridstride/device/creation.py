"""Device arrays made: copies of what the host has, and fresh ones, empty or filled on the host."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.device.adopted import from_dlpack
from gridstride.device.arrays import DeviceArray, allocated
from gridstride.device.choice import device as choose
from gridstride.device.dlpack import is_on_gpu
from gridstride.device.element_types import BFLOAT16, element_type
from gridstride.device.launch.scalars import bfloat16_bits
from gridstride.device.launch.views import host_values

if TYPE_CHECKING:
    from gridstride.protocol import Device

Shape = int | tuple[int, ...]


def to_device(host: object, *, device: Device | str | None = None, stream: Any = None) -> DeviceArray:
    """A copy on the device of a NumPy array, CPU tensor, nested sequence, or array or CUDA tensor of the same device.

    In a `stream` (or `with stream:`) a copy from pinned memory only begins on a physical GPU; others are done.
    """
    chosen = choose(device)
    if not isinstance(host, DeviceArray) and is_on_gpu(host):
        host = from_dlpack(host, device=chosen)
    if isinstance(host, DeviceArray) and host.device is chosen:
        return allocated(host.shape, host.dtype, host.dtype_name, chosen).copy_from(host, stream=stream)
    values, name = host_values(host)
    return allocated(values.shape, values.dtype, name, chosen).copy_from(values, stream=stream)


def empty(shape: Shape, dtype: Any = np.float32, *, device: Device | str | None = None) -> DeviceArray:
    """An array on the device whose values are whatever the memory held."""
    return allocated(dimensions("empty", shape), *element_type(dtype), choose(device))


def zeros(shape: Shape, dtype: Any = np.float32, *, device: Device | str | None = None) -> DeviceArray:
    """An array on the device, filled with zeros."""
    return _filled(np.zeros(dimensions("zeros", shape), element_type(dtype)[0]), dtype, device)


def full(shape: Shape, value: Any, dtype: Any = np.float32, *, device: Device | str | None = None) -> DeviceArray:
    """An array on the device, filled with one number; ValueError for one that the dtype does not have."""
    held, name = element_type(dtype)
    try:
        as_bits = name == BFLOAT16 and held == np.uint16
        element = bfloat16_bits(float(value)) if as_bits else _exact(value, held)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"full: value = {value!r} is no {name}") from None
    return _filled(np.full(dimensions("full", shape), element, held), dtype, device)


def random(shape: Shape, dtype: Any = np.float32, seed: int = 0, *, device: Device | str | None = None) -> DeviceArray:
    """An array of random numbers, made on the host: the same for a seed on every machine.

    Floats are uniform in [0, 1), complex numbers in both parts; integers take all values of their dtype.
    """
    held, name = element_type(dtype)
    sizes = dimensions("random", shape)
    return _filled(_drawn(np.random.default_rng(seed), sizes, held, name), dtype, device)


def _drawn(
    generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype[Any], name: str
) -> np.ndarray[Any, Any]:
    if name == BFLOAT16:  # cut off, not rounded: a half-open interval stays one
        bits = (generator.random(shape, np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return bits.view(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return generator.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    if dtype.kind == "b":
        return generator.integers(0, 1, shape, np.uint8, endpoint=True).astype(bool)
    if dtype == np.float16:  # eleven bits are what a half has below 1
        return (generator.integers(0, 1 << 11, shape) / (1 << 11)).astype(np.float16)
    if dtype.kind == "f":
        return generator.random(shape, np.float32 if dtype == np.float32 else np.float64).astype(dtype)
    if dtype.kind == "c":
        return (generator.random(shape) + 1j * generator.random(shape)).astype(dtype)
    raise ValueError(f"random: there are no random numbers of dtype {name}")


def _exact(value: Any, dtype: np.dtype[Any]) -> Any:
    """An element of a dtype; OverflowError or ValueError for a number that integers do not have."""
    if dtype.kind in "iu" and int(value) != value:
        raise ValueError
    return np.array(int(value) if dtype.kind in "iu" else value, dtype)[()]


def _filled(values: np.ndarray[Any, Any], dtype: Any, device: Device | str | None) -> DeviceArray:
    array = allocated(values.shape, *element_type(dtype), choose(device))
    return array.copy_from(values)


def dimensions(what: str, shape: Any) -> tuple[int, ...]:
    """Sizes from a whole number or several; TypeError, ValueError for negative ones."""
    try:
        sizes = tuple(map(operator.index, shape if np.iterable(shape) else (shape,)))
    except TypeError:
        raise TypeError(f"{what}: shape {shape!r} is neither a whole number nor a tuple of them") from None
    if any(size < 0 for size in sizes):
        raise ValueError(f"{what}: shape {sizes} has a negative dimension")
    return sizes
