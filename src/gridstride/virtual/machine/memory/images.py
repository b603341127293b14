"""Texels of the virtual GPU, in the arena, and the table of texture and surface objects that kernels look in."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from gridstride.protocol import DeviceError, ImageLayout, TextureSampling
from gridstride.virtual.abi.texture_objects import (
    ADDRESS_MODES,
    FORMATS,
    OBJECT,
    OBJECT_SLOTS,
    SURFACE_TAG,
    TEXTURE_TAG,
)
from gridstride.virtual.abi.texture_requests import CUBE, LAYERED, LINEAR
from gridstride.virtual.machine.memory.addresses import reserve

if TYPE_CHECKING:
    from gridstride.virtual.machine.interfaces import VirtualDevice

Array = np.ndarray[Any, Any]


class ObjectTable:
    """The records of a device's texture and surface objects, at an address that never changes."""

    def __init__(self) -> None:
        self._memory, self.address = reserve(OBJECT_SLOTS * OBJECT.size)
        self.records: Array = np.frombuffer(self._memory, OBJECT.dtype(), OBJECT_SLOTS)
        self._next = 1  # slot 0 is never given out, so that a handle of zeros is none
        self._free: list[int] = []
        self._generations = np.zeros(OBJECT_SLOTS, np.uint32)
        self.without_memory: set[int] = set()
        """Handles of objects whose texels were freed before they were."""

    def add(self, tag: int, fields: dict[str, Any]) -> int:
        """The handle of a new object with a record's fields; not locked, the device does that."""
        if not self._free and self._next == OBJECT_SLOTS:
            raise DeviceError(f"{OBJECT_SLOTS - 1} texture and surface objects are alive: close() some")
        slot = self._free.pop() if self._free else self._next
        self._next = max(self._next, slot + 1)
        self._generations[slot] += 1
        handle = tag << 48 | int(self._generations[slot]) << 16 | slot
        record = self.records[slot]
        for name, value in fields.items():
            record[name] = value
        record["handle"] = handle
        return handle

    def remove(self, handle: int) -> None:
        """Ends an object: its handle is known no longer."""
        slot = handle % OBJECT_SLOTS
        if handle not in self.without_memory:
            assert int(self.records[slot]["handle"]) == handle
            self.records[slot] = np.zeros((), OBJECT.dtype())
        self.without_memory.discard(handle)
        self._free.append(slot)

    def freed(self, address: int, nbytes: int) -> None:
        """Memory is given back: objects whose texels lie there are no good from now on."""
        if self._next == 1:
            return
        levels = self.records["level"][1 : self._next]
        for slot in 1 + np.flatnonzero(((levels >= address) & (levels < address + nbytes)).any(axis=1)):
            self.without_memory.add(int(self.records[slot]["handle"]))
            self.records[slot] = np.zeros((), OBJECT.dtype())

    def images_in(self, packed: bytes, *, surfaces: bool) -> list[tuple[int, int, int]]:
        """Of the texture or surface objects whose handles stand in a launch's parameters: where the texels of their
        first level begin, how many bytes they reach, and how many they have.
        """
        found, tag = [], SURFACE_TAG if surfaces else TEXTURE_TAG
        for handle in set(np.frombuffer(packed, "<u8", len(packed) // 8).tolist()):
            record = self.records[handle % OBJECT_SLOTS]
            if handle >> 48 == tag and int(record["handle"]) == handle:
                row = int(record["width"]) * int(record["texel"])
                rows = math.prod(max(1, int(record[name])) for name in ("height", "depth", "layers"))
                rows *= 6 if record["cubemap"] else 1
                reach = (rows - 1) * max(row, int(record["pitch"])) + row
                found.append((int(record["level"][0]), reach, row * rows))
        return found

    def was_given(self, handle: int) -> bool:
        """Whether a handle stood for an object once."""
        slot, number, tag = handle % OBJECT_SLOTS, handle >> 16 & 0xFFFFFFFF, handle >> 48
        return tag in (TEXTURE_TAG, SURFACE_TAG) and 0 < number <= int(self._generations[slot])


class VirtualImage:
    """Texels in an allocation of its own, or in the linear memory at `address`."""

    def __init__(self, device: VirtualDevice, layout: ImageLayout, address: int = 0) -> None:
        self._device, self.layout = device, layout
        self._texel = layout.channels * np.dtype(layout.dtype).itemsize
        self._own = not address
        sizes = [-(-self._bytes(level) // 256) * 256 for level in range(layout.levels)]
        start = address or device.allocate(sum(sizes))
        self._levels = [start + sum(sizes[:level]) for level in range(layout.levels)]

    def _bytes(self, level: int) -> int:
        layout = self.layout
        width, height, depth = (max(1, n >> level) for n in (layout.width, layout.height, layout.depth))
        return width * height * depth * max(1, layout.layers) * (6 if layout.cubemap else 1) * self._texel

    def write(self, level: int, host: Array) -> None:
        """Fills a level from a C-contiguous array."""
        self._device.copy_in(self._levels[level], host)

    def read(self, level: int, host: Array) -> None:
        """Copies a level to a C-contiguous array."""
        self._device.copy_out(host, self._levels[level])

    def texture(self, sampling: TextureSampling) -> int:
        """A new texture object."""
        with self._device.lock:
            return self._device.objects.add(TEXTURE_TAG, {**self._fields(), **_modes(self.layout, sampling)})

    def surface(self) -> int:
        """A new surface object."""
        with self._device.lock:
            return self._device.objects.add(SURFACE_TAG, self._fields())

    def destroy_texture(self, handle: int) -> None:
        with self._device.lock:
            self._device.objects.remove(handle)

    destroy_surface = destroy_texture

    def free(self) -> None:
        """Gives the memory back."""
        if self._own:
            self._device.free(self._levels[0])

    def _fields(self) -> dict[str, Any]:
        layout = self.layout
        same = {name: getattr(layout, name) for name in ("channels", "width", "height", "depth", "layers", "levels")}
        levels = np.zeros(OBJECT.count["level"], np.uint64)
        levels[: layout.levels] = self._levels
        return {
            **same, "format": FORMATS.index(layout.dtype), "cubemap": layout.cubemap, "texel": self._texel,
            "linear": layout.pitch > 0 and not layout.height, "pitch": layout.pitch or layout.width * self._texel,
            "level": levels, "shape": _shape(layout),
        }  # fmt: skip


def _modes(layout: ImageLayout, sampling: TextureSampling) -> dict[str, Any]:
    low, high = (min(layout.levels - 1.0, level) for level in sampling.lod_range)
    return {
        "filter": sampling.filter == "linear", "mip_filter": sampling.mipmap_filter == "linear",
        "normalized": sampling.normalized, "srgb": sampling.srgb, "floats": sampling.read == "normalized_float",
        "address": [ADDRESS_MODES.index(mode) for mode in sampling.address],
        "border": _border(layout, sampling), "bias": _fixed(sampling.lod_bias) & 0xFFFFFFFF, "low": _fixed(low),
        "high": _fixed(high),
    }  # fmt: skip


def _fixed(level: float) -> int:
    """A level in 1/256, cut as the hardware cuts it."""
    return int(level * 256)


def _border(layout: ImageLayout, sampling: TextureSampling) -> Array:
    """The border colour as registers get it; channels that the texels lack are 0.

    As an H200 was seen to do it: fractions of integers are cut to the texels' steps (of signed ones, rounded), and
    integers that are read as they are get the colour's own bits, as far as a texel holds them.
    """
    colour = np.array(sampling.border, np.float32)
    colour[layout.channels :] = 0
    dtype = np.dtype(layout.dtype)
    if layout.dtype == "float16":
        colour = np.clip(colour, -65504, 65504).astype(np.float16).astype(np.float32)
    elif dtype.kind in "iu" and sampling.read == "normalized_float":
        most, signed = np.iinfo(dtype).max, dtype.kind == "i"
        steps = np.floor(np.clip(colour, -float(signed), 1).astype(np.float64) * most + 0.5 * signed)
        fractions = (steps / most).astype(np.float32)
        if sampling.srgb:
            fractions[:3] = _eight_bits(np.clip(colour[:3], 0, 1))
        colour = fractions
    elif dtype.kind in "iu":
        unsigned = np.dtype(f"u{dtype.itemsize}")
        return colour.view(np.uint32).astype(unsigned).view(dtype).astype(np.int32).view(np.uint32)
    return colour.view(np.uint32)


def _eight_bits(light: Array) -> Array:
    """Rounded to eight significant bits, as light is kept of sRGB."""
    mantissa, exponent = np.frexp(light)
    rounded: Array = np.ldexp(np.floor(mantissa * 256 + 0.5), exponent - 8)
    return rounded


def _shape(layout: ImageLayout) -> int:
    """The shape that instructions must name."""
    dimensions = 1 + bool(layout.height) + bool(layout.depth)
    flags = LAYERED * bool(layout.layers) | CUBE * layout.cubemap | LINEAR * (layout.pitch > 0 and not layout.height)
    return dimensions | flags
