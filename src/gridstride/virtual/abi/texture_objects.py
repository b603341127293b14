"""Records of texture and surface objects, and the numbers that they hold."""

from __future__ import annotations

from gridstride.virtual.abi.layout import Layout

OBJECT_SLOTS = 1 << 16
"""Texture and surface objects that a device can have at a time; a handle's lowest bits are its slot."""

TEXTURE_TAG, SURFACE_TAG = 0x7478, 0x7366
"""The highest 16 bits of a handle. Between them and the slot it counts how often the slot was given out before."""

MOST_LEVELS = 18
OBJECT = Layout(
    "object",
    f"""handle:i64 format:i32 channels:i32 width:i32 height:i32 depth:i32 layers:i32 cubemap:i32 linear:i32 shape:i32
    levels:i32 filter:i32 mip_filter:i32 normalized:i32 floats:i32 srgb:i32 address:i32[3] border:i32[4] bias:i32
    low:i32 high:i32 texel:i32 pitch:i64 level:i64[{MOST_LEVELS}]""",
)
"""A texture or surface object: texels of `texel` bytes at `level[0]` and so on, rows `pitch` bytes apart on level 0.
Sizes are 0 where there is no such dimension; `shape` says the same in the words of sampling.py. `floats`:
integers are read as normalised floats; `border` is as the registers get it; `bias` and the range of levels in 1/256."""

FORMATS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "float16", "float32")
ADDRESS_MODES = ("clamp", "wrap", "mirror", "border")
"""Index = the number in an object's record."""

OBJECT_FAULTS = ("none", "unknown", "other_kind", "geometry", "form", "outside", "misaligned")
"""Index = lowest byte of `fault_space` for texture and surface faults; above it is the object's slot."""
