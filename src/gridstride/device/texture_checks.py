"""What textures and surfaces may be: shapes, dtypes and modes that go together, refused with one clear message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.protocol import ImageLayout, TextureSampling

DTYPES = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")
ADDRESSES = ("clamp", "wrap", "mirror", "border")
FILTERS = ("point", "linear")
READS = ("element", "normalized_float")

PITCH_ALIGNMENT = 32
"""Bytes: cudaDeviceProp::texturePitchAlignment of every current GPU."""
LINEAR_TEXELS = 1 << 28
_LIMITS = {
    "1d": (131072,), "2d": (65536, 131072), "3d": (16384,) * 3, "a1d": (2048, 32768), "a2d": (2048, 32768, 32768),
    "cube": (6, 32768, 32768), "acube": (2046 // 6, 6, 32768, 32768), "pitch2d": (65000, 131072),
}  # fmt: skip
"""Most texels in each dimension, in an array's order (CUDA C++ Programming Guide, compute capability 7.5 to 9.0)."""
_SURFACE_LIMITS = {**_LIMITS, "1d": (32768,)}


@dataclass(frozen=True, slots=True)
class Axes:
    """What axes of an array are besides width, height and depth: the last its channels, the first its layers, and the
    one behind the layers the six faces of a cube.
    """

    channels: int = 1
    layered: bool = False
    cubemap: bool = False


@dataclass(frozen=True, slots=True)
class Modes:
    """The modes of a texture as `gridstride.texture` is given them."""

    address: str | Sequence[str]
    filter: str
    normalized: bool
    read: str
    srgb: bool
    border: float | Sequence[float]
    mipmap_filter: str
    lod_bias: float
    lod_range: tuple[float, float] | None


def layout_of(
    what: str, shape: Sequence[int], dtype: np.dtype[Any], axes: Axes, *, levels: int = 1, surface: bool = False
) -> ImageLayout:
    """The layout of an array of `shape`."""
    channels, layered, cubemap = axes.channels, axes.layered, axes.cubemap
    if dtype.name not in DTYPES:
        raise ValueError(f"{what}: dtype {dtype.name}: the hardware has {', '.join(DTYPES)}")
    if channels not in (1, 2, 4):
        raise ValueError(f"{what}: channels={channels!r}: the hardware has 1, 2 or 4 (pad three to four)")
    spatial = tuple(shape)
    if channels > 1:
        if not spatial or spatial[-1] != channels:
            raise ValueError(
                f"{what}: shape {tuple(shape)} with channels={channels}: the last axis must have that many"
            )
        spatial = spatial[:-1]
    kind = _kind(what, tuple(shape), spatial, layered, cubemap)
    limits = (_SURFACE_LIMITS if surface else _LIMITS)[kind]
    for size, limit in zip(spatial, limits, strict=True):
        if not 1 <= size <= limit:
            raise ValueError(
                f"{what}: shape {tuple(shape)}: a dimension of {size} texels; here 1 to {limit} are possible"
            )
    layers = spatial[0] if layered else 0
    inner = spatial[int(layered) + int(cubemap) :]
    width, height, depth = (*inner[::-1], 0, 0, 0)[:3]
    return ImageLayout(dtype.name, channels, width, height, depth, layers, cubemap, levels, surface)


def _kind(what: str, shape: tuple[int, ...], spatial: tuple[int, ...], layered: bool, cubemap: bool) -> str:
    rank = len(spatial) - layered
    if cubemap:
        if rank != 3 or spatial[-3] != 6 or spatial[-1] != spatial[-2]:
            expected = "(layers, 6, n, n)" if layered else "(6, n, n)"
            raise ValueError(f"{what}: shape {shape} with cubemap=True: it must be {expected}, six square faces")
        return "acube" if layered else "cube"
    if not 1 <= rank <= (2 if layered else 3):
        which = "1 or 2 dimensions behind the layers" if layered else "1 to 3 dimensions"
        raise ValueError(f"{what}: shape {shape}: {which} are possible (channels=2 or 4 makes the last axis channels)")
    return f"a{rank}d" if layered else f"{rank}d"


def linear_layout(what: str, shape: Sequence[int], dtype: np.dtype[Any], channels: int, address: int) -> ImageLayout:
    """The layout of a device array that a texture reads in place: one dimension, or two whose rows are aligned."""
    spatial = len(shape) - (channels > 1)
    if spatial not in (1, 2):
        raise ValueError(
            f"{what}: a device array is read in place as linear memory, in one or two dimensions, not as "
            f"{tuple(shape)}: pass a NumPy array, which goes to a CUDA array"
        )
    if spatial == 1:
        flat = int(np.prod(shape[:1]))
        if not 1 <= flat <= LINEAR_TEXELS:
            raise ValueError(f"{what}: {flat} texels of linear memory; 1 to {LINEAR_TEXELS} are possible")
        layout = layout_of(what, (1, *shape[1:]), dtype, Axes(channels))
        width, height = flat, 0
    else:
        layout = layout_of(what, shape, dtype, Axes(channels))
        width, height = layout.width, layout.height
    row = width * channels * dtype.itemsize
    if height and row % PITCH_ALIGNMENT:
        raise ValueError(
            f"{what}: rows of {row} bytes: in place they must be a multiple of {PITCH_ALIGNMENT} "
            "(texturePitchAlignment): pad the rows, or pass a NumPy array"
        )
    if address % 512 and address % 256:
        raise ValueError(f"{what}: the device array starts at {address:#x}, which is not a multiple of 256")
    return ImageLayout(dtype.name, channels, width, height, pitch=row)


def address_modes(modes: Sequence[str], *, normalized: bool) -> tuple[str, str, str]:
    """Those of x, y and z as CUDA takes them: without normalised coordinates it "switches" what goes round, and so
    counts an axis as 1, to clamp (cudaTextureDesc::normalizedCoords).
    """
    x, y, z = (mode if normalized or mode not in ("wrap", "mirror") else "clamp" for mode in modes)
    return x, y, z


def sampling_of(layout: ImageLayout, requested: Modes) -> TextureSampling:
    """The modes of a texture, checked against its texels."""
    address, border, lod_bias, lod_range = requested.address, requested.border, requested.lod_bias, requested.lod_range
    axes = 1 + bool(layout.height) + bool(layout.depth)
    per_axis = (address,) * axes if isinstance(address, str) else tuple(address)[:axes]
    modes = (*per_axis, *("clamp",) * 3)[:3]  # the hardware filters along axes that are not there, too
    for mode in modes:
        _one_of("address", mode, ADDRESSES)
    modes_checked = address_modes(modes, normalized=requested.normalized or layout.cubemap)
    _one_of("filter", requested.filter, FILTERS)
    _one_of("mipmap_filter", requested.mipmap_filter, FILTERS)
    _one_of("read", requested.read, READS)
    border_color = (float(border),) * 4 if isinstance(border, int | float) else tuple(float(c) for c in border)
    if len(border_color) != 4:
        raise ValueError(f"texture: border={border!r}: one number, or four (the channels')")
    floating = layout.dtype in ("float16", "float32")
    _check_reading(layout, requested.filter, requested.read, requested.srgb, floating)
    _check_levels(layout, requested.normalized)
    any_mode = requested.normalized or requested.filter == "linear" or "border" in modes_checked
    if layout.pitch and not layout.height and any_mode:
        raise ValueError("texture: linear memory of one dimension is read by whole indices (tex1Dfetch), with no modes")
    low, high = (0.0, float(layout.levels - 1)) if lod_range is None else lod_range
    if not 0 <= low <= high or not -16 <= lod_bias < 16:
        raise ValueError(
            f"texture: lod_range={lod_range!r}, lod_bias={lod_bias!r}: levels from 0 up, biases of -16 to 16"
        )
    return TextureSampling(
        modes_checked, requested.filter, requested.normalized or layout.cubemap, requested.read, requested.srgb,
        (border_color[0], border_color[1], border_color[2], border_color[3]), requested.mipmap_filter, float(lod_bias),
        (float(low), float(high)),
    )  # fmt: skip


def _one_of(name: str, value: object, choices: Sequence[str]) -> None:
    if value not in choices:
        raise ValueError(f"texture: {name}={value!r}: it is {', '.join(map(repr, choices))}")


def _check_reading(layout: ImageLayout, filter: str, read: str, srgb: bool, floating: bool) -> None:
    if read == "normalized_float" and layout.dtype in ("uint32", "int32"):
        raise ValueError(
            f"texture: read='normalized_float' of {layout.dtype}: only 8- and 16-bit integers become floats"
        )
    if filter == "linear" and not floating and read == "element":
        raise ValueError(
            f"texture: filter='linear' of {layout.dtype} texels: integers are filtered as floats only, with "
            "read='normalized_float'"
        )
    if srgb and (layout.dtype != "uint8" or read != "normalized_float"):
        raise ValueError("texture: srgb=True is for uint8 texels with read='normalized_float'")


def _check_levels(layout: ImageLayout, normalized: bool) -> None:
    if layout.levels > 1 and not normalized and not layout.cubemap:
        raise ValueError("texture: mipmaps need normalized=True, for the levels have different sizes")
