"""Tensor maps for cp.async.bulk.tensor: which array, and the box of it that one copy moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.device.arrays import DeviceArray
from gridstride.device.driver import bindings, check

MOST_RANKS = 5
MOST_BOX = 256
SWIZZLES = (0, 32, 64, 128)
_NANS = {"float16": 0x7FFF, "bfloat16": 0x7FFF, "float32": 0x7FFFFFFF, "float64": 0x7FFFFFFFFFFFFFFF}
_DRIVER_TYPES = {
    "uint8": "UINT8", "int8": "UINT8", "bool": "UINT8", "uint16": "UINT16", "int16": "UINT16", "uint32": "UINT32",
    "int32": "INT32", "uint64": "UINT64", "int64": "INT64", "float16": "FLOAT16", "bfloat16": "BFLOAT16",
    "float32": "FLOAT32", "float64": "FLOAT64", "float8_e4m3fn": "UINT8", "float8_e5m2": "UINT8",
}  # fmt: skip


class TensorMap(np.ndarray[Any, Any]):
    """128 bytes to pass by value for a `const __grid_constant__ CUtensorMap` parameter; keeps its array alive."""

    tensor: DeviceArray

    def __repr__(self) -> str:
        return f"TensorMap({getattr(self, 'tensor', 'of nothing')!r})"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class _Plan:
    """What a map holds, from the dimension that varies fastest; strides in bytes from the second on."""

    sizes: list[int]
    strides: list[int]
    box: list[int]
    swizzle: int
    nan: bool


def tensor_map(array: DeviceArray, box: int | Sequence[int], *, swizzle: int = 0, fill: str = "zeros") -> TensorMap:
    """The map of a device array of one to five dimensions, in tiled mode (cuTensorMapEncodeTiled).

    `box`: elements of each dimension that a copy moves, in the array's own order (a kernel gives the corner the other
    way round, the dimension that varies fastest first). `swizzle`: 0, 32, 64 or 128 bytes. `fill`: "zeros" or "nan" for
    elements outside of the array. ValueError says what the hardware does not take.
    """
    plan = _plan(array, box, swizzle, fill)
    raw = _encoded(array, plan)
    made = np.frombuffer(raw, np.uint8).view(TensorMap)
    made.tensor = array
    return made


def _plan(array: DeviceArray, box: int | Sequence[int], swizzle: int, fill: str) -> _Plan:
    if not isinstance(array, DeviceArray):
        given = type(array).__name__
        raise TypeError(f"tensor_map: a map is of an array on the device, not of a {given}: gs.to_device(…) first")
    name, box = array.dtype_name, (box,) if isinstance(box, int) else tuple(box)
    if not 1 <= array.ndim <= MOST_RANKS or len(box) != array.ndim:
        raise ValueError(f"tensor_map: box {box} for an array of {array.ndim} dimensions; both have 1 to 5")
    if name not in _DRIVER_TYPES:
        raise ValueError(f"tensor_map: the hardware has no tensors of {name}; it has {', '.join(_DRIVER_TYPES)}")
    if swizzle not in SWIZZLES:
        raise ValueError(f"tensor_map: swizzle={swizzle!r}: it is 0, 32, 64 or 128 bytes")
    if fill not in ("zeros", "nan") or (fill == "nan" and name not in _NANS):
        raise ValueError(f'tensor_map: fill={fill!r} for {name}: it is "zeros", or "nan" for floating-point numbers')
    plan = _Plan(list(array.shape[::-1]), list(array.strides[-2::-1]), list(box[::-1]), swizzle, fill == "nan")
    _check(array, plan)
    return plan


def _check(array: DeviceArray, plan: _Plan) -> None:
    """The limits of cuTensorMapEncodeTiled."""
    for size, count in zip(plan.sizes, plan.box, strict=True):
        if not 1 <= count <= MOST_BOX:
            raise ValueError(f"tensor_map: a box has 1 to {MOST_BOX} elements in each dimension, not {count}")
        if not 1 <= size < 1 << 32:
            raise ValueError(f"tensor_map: a dimension of {size} elements; 1 to 2³² - 1 can be copied from")
    row = plan.box[0] * array.dtype.itemsize
    if row % 16:
        raise ValueError(f"tensor_map: a row of the box is {row} bytes, which must be a multiple of 16")
    if plan.swizzle and row > plan.swizzle:
        raise ValueError(f"tensor_map: a row of the box is {row} bytes, which swizzle={plan.swizzle} cannot hold")
    for stride in plan.strides:
        if stride % 16:
            raise ValueError(
                f"tensor_map: rows of the array are {stride} bytes apart, which must be a multiple of 16: pad its last "
                "dimension"
            )
    if array.address % 16:
        raise ValueError(f"tensor_map: the array starts at {array.address:#x}, which is not a multiple of 16")


def _encoded(array: DeviceArray, plan: _Plan) -> bytes:
    if array.device.kind == "physical":
        return _by_driver(array, plan)
    from gridstride.virtual.machine.tensor_map import encode

    return encode(
        array.address, plan.sizes, strides=plan.strides, box=plan.box, element=array.dtype.itemsize,
        swizzle=plan.swizzle, fill=_NANS[array.dtype_name] if plan.nan else 0,
    )  # fmt: skip


def _by_driver(array: DeviceArray, plan: _Plan) -> bytes:
    cu = bindings()
    swizzle = "NONE" if not plan.swizzle else f"{plan.swizzle}B"
    fill = "NAN_REQUEST_ZERO_FMA" if plan.nan else "NONE"
    made = check(
        cu.cuTensorMapEncodeTiled(
            getattr(cu.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{_DRIVER_TYPES[array.dtype_name]}"),
            len(plan.sizes),
            array.address,
            [cu.cuuint64_t(n) for n in plan.sizes],
            [cu.cuuint64_t(n) for n in plan.strides],
            [cu.cuuint32_t(n) for n in plan.box],
            [cu.cuuint32_t(1) for _ in plan.box],
            cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
            getattr(cu.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
            cu.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
            getattr(cu.CUtensorMapFloatOOBfill, f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{fill}"),
        ),
        "encoding a tensor map",
    )
    return np.array([int(word) for word in made.opaque], np.uint64).tobytes()
