"""Textures and tensor maps as our libcudart describes them, in the words of the virtual GPU."""

from __future__ import annotations

import ctypes
import struct

from gridstride.device.tensor_map import SWIZZLES, encoded
from gridstride.device.texture_checks import address_modes
from gridstride.protocol import ImageLayout, TensorMapLayout, TextureSampling

_IMAGE = struct.Struct("<Q11q")
"""`Image` of runtime.h."""
_SAMPLING = struct.Struct("<8q7d")
"""`Sampling` of runtime.h."""
_TENSOR_MAP = struct.Struct("<2Q32q")
"""`TensorMapOrder` of runtime.h."""
_TYPES = (
    "UINT8", "UINT16", "UINT32", "INT32", "UINT64", "INT64", "FLOAT16", "FLOAT32", "FLOAT64", "BFLOAT16", "FLOAT32_FTZ",
    "TFLOAT32", "TFLOAT32_FTZ",
)  # fmt: skip
"""By the number of CUtensorMapDataType."""
_INTERLEAVES = (0, 16, 32)
"""By the number of CUtensorMapInterleave."""
_KINDS = ("int", "uint", "float")
_ADDRESSES = ("wrap", "clamp", "mirror", "border")
_FILTERS = ("point", "linear")
_READS = ("element", "normalized_float")
"""By the numbers of cudaChannelFormatKind, cudaTextureAddressMode, cudaTextureFilterMode and cudaTextureReadMode."""


def image_at(address: int) -> tuple[ImageLayout, int]:
    """The layout that an `Image` describes, and where its texels are."""
    texels, kind, bits, channels, width, height, depth, layers, cubemap, levels, surface, pitch = _IMAGE.unpack(
        ctypes.string_at(address, _IMAGE.size)
    )
    layout = ImageLayout(
        f"{_KINDS[kind]}{bits}", channels, width, height, depth, layers, bool(cubemap), levels, bool(surface), pitch
    )
    return layout, texels


def sampling_at(address: int) -> TextureSampling:
    """What a `Sampling` says."""
    x, y, z, point, read, srgb, normalized, mipmap, *colour, bias, low, high = _SAMPLING.unpack(
        ctypes.string_at(address, _SAMPLING.size)
    )
    red, green, blue, alpha = colour
    modes = address_modes((_ADDRESSES[x], _ADDRESSES[y], _ADDRESSES[z]), normalized=bool(normalized))
    return TextureSampling(
        modes, _FILTERS[point], bool(normalized), _READS[read], bool(srgb),
        (red, green, blue, alpha), _FILTERS[mipmap], bias, (low, high),
    )  # fmt: skip


def write_tensor_map(order: int) -> None:
    """The 128 bytes of the map that a `TensorMapOrder` describes, to where it says."""
    to, address, rank, type_, interleave, swizzle, nan, im2col, *numbers = _TENSOR_MAP.unpack(
        ctypes.string_at(order, _TENSOR_MAP.size)
    )
    sizes, strides, box, steps = (numbers[5 * n : 5 * n + rank] for n in range(4))
    low, high = (numbers[20 + 3 * n : 20 + 3 * n + rank - 2] for n in range(2))
    plan = TensorMapLayout(
        _TYPES[type_], sizes, strides[:-1], box[:2] if im2col else box, steps, SWIZZLES[swizzle],
        _INTERLEAVES[interleave], bool(nan), (low, high) if im2col else None,
    )  # fmt: skip
    ctypes.memmove(to, encoded("virtual", address, plan), 128)
