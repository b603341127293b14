"""What is said of a tensor copy that the hardware would not make."""

from __future__ import annotations

from typing import Any

TYPES = ("u8", "u16", "u32", "s32", "u64", "s64", "f16", "f32", "f32.ftz", "f64", "bf16", "tf32", "tf32.ftz")
"""Element types by their number in a map."""
OPERATIONS = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
"""What cp.reduce.async.bulk.tensor does, counted from 1."""
_COLUMNS = 16
_BEYOND_LIMITS = 0xFF


def unfit(record: Any) -> str:
    """No map, or one of other dimensions or of another mode."""
    expected, have = int(record["fault_address"]), int(record["fault_size"])
    if not have:
        return (
            "no tensor map at the address given: gs.tensor_map(array, box) makes one, a `const __grid_constant__` "
            "parameter brings it to the kernel"
        )
    if have == _BEYOND_LIMITS:
        return (
            "a tensor map with a field that no map can have: boxes have 1 to 256 elements an axis (1024 pixels of "
            "im2col), rows that the swizzle holds, a swizzle of 32, 64 or 128 bytes, an interleave of 16 or 32"
        )
    if expected % _COLUMNS != have % _COLUMNS:
        return f"a copy of a {expected % _COLUMNS}-dimensional box with a tensor map of {have % _COLUMNS} dimensions"
    modes = ["an im2col copy" if kind >= _COLUMNS else "a tiled copy" for kind in (expected, have)]
    return f"{modes[0]} with a tensor map for {modes[1]}: gs.tensor_map makes one for im2col where im2col= is given"


def corner(record: Any) -> str:
    """A corner that ends in an illegal instruction on an H200."""
    offset, what = int(record["fault_address"]), int(record["fault_size"])
    if what == 1:
        return (
            f"a tensor copy whose corner is {_signed(offset)} bytes into the first dimension, which must be a multiple "
            "of 16: the hardware ends this in an illegal instruction"
        )
    return (
        "a tensor copy whose corner is where the hardware ends in an illegal instruction: out of shared memory below 0 "
        "(elements behind the tensor's end are left out, those before it are not), or beside the box of pixels of "
        "im2col, which for a copy out of shared memory must not go beyond the image"
    )


def reduction(record: Any) -> str:
    """An operation that elements of the map's type do not have."""
    type_, operation = int(record["fault_address"]), int(record["fault_size"])
    op = OPERATIONS[operation - 1]
    return f"cp.reduce.async.bulk.tensor.{op} into a tensor of {TYPES[type_]}, which has no such operation"


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 else value
