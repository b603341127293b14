"""Textures as our libcudart describes them, in the words of the virtual GPU."""

from __future__ import annotations

import ctypes
import struct

from gridstride.protocol import ImageLayout, Sampling

_IMAGE = struct.Struct("<Q11q")
"""`Image` of runtime.h."""
_SAMPLING = struct.Struct("<8q7d")
"""`Sampling` of runtime.h."""
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


def sampling_at(address: int) -> Sampling:
    """What a `Sampling` says."""
    x, y, z, point, read, srgb, normalized, mipmap, *colour, bias, low, high = _SAMPLING.unpack(
        ctypes.string_at(address, _SAMPLING.size)
    )
    red, green, blue, alpha = colour
    return Sampling(
        (_ADDRESSES[x], _ADDRESSES[y], _ADDRESSES[z]), _FILTERS[point], bool(normalized), _READS[read], bool(srgb),
        (red, green, blue, alpha), _FILTERS[mipmap], bias, (low, high),
    )  # fmt: skip
