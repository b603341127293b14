"""The layout of a tensor map, and the numbers that it holds."""

from __future__ import annotations

from gridstride.virtual.abi.layout import Layout

RANKS = 5
"""Most dimensions of a tensor map."""

TENSOR_MAGIC = 0x6D70_4753
TENSOR = Layout(
    "tensor",
    f"""magic:i32 rank:i32 address:i64 stride:i64[{RANKS - 1}] size:i32[{RANKS}] box:i32[{RANKS}] element:i32
    swizzle:i32 nan:i32 corner:i32[{RANKS - 2}] interleave:i8 im2col:i8 step:i8[{RANKS}]""",
)
"""A tensor map, 128 bytes as the hardware's: sizes from the dimension that varies fastest, strides in bytes from the
second on; `element` is the number that tensormap.replace gives an element's type; `swizzle` the bits of an offset in
shared memory that are turned by the bits three places above them; `nan` is 1 where elements outside are NaN;
`interleave` the bytes of a slice of channels, 0 for none; `step` the element strides less one. Where `im2col` is 1
`box` holds channels and pixels, `corner` the box of the image, lower corners in the lower halves."""

ELEMENTS = (1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4)
"""Bytes of an element by the number of its type (PTX ISA, tensormap.replace: u8 u16 u32 s32 u64 s64 f16 f32 f32.ftz f64
bf16 tf32 tf32.ftz)."""

ROUNDED_TYPES = 11
"""The first type whose elements are rounded as they are copied in."""
