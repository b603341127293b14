"""Tensor maps for cp.async.bulk.tensor: which array, and the box of it that one copy moves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.device.arrays import DeviceArray
from gridstride.device.physical.driver import bindings, check
from gridstride.protocol import TensorMapLayout

MOST_RANKS = 5
MOST_BOX = 256
MOST_PIXELS = 1024
MOST_STEP = 8
SWIZZLES = (0, 32, 64, 128)
TYPES = {
    "UINT8": 1, "UINT16": 2, "UINT32": 4, "INT32": 4, "UINT64": 8, "INT64": 8, "FLOAT16": 2, "FLOAT32": 4,
    "FLOAT32_FTZ": 4, "FLOAT64": 8, "BFLOAT16": 2, "TFLOAT32": 4, "TFLOAT32_FTZ": 4,
}  # fmt: skip
"""The driver's element types with their bytes, in the order of the numbers that tensormap.replace gives them."""
_OF_ARRAYS = {
    "uint8": "UINT8", "int8": "UINT8", "bool": "UINT8", "uint16": "UINT16", "int16": "UINT16", "uint32": "UINT32",
    "int32": "INT32", "uint64": "UINT64", "int64": "INT64", "float16": "FLOAT16", "bfloat16": "BFLOAT16",
    "float32": "FLOAT32", "float64": "FLOAT64", "float8_e4m3fn": "UINT8", "float8_e5m2": "UINT8",
}  # fmt: skip
_CORNERS = {1: (-(1 << 15), (1 << 15) - 1), 2: (-128, 127), 3: (-16, 15)}
"""By the number of image dimensions: how far a corner of the pixels' box may be from the image's."""


class TensorMap(np.ndarray[Any, Any]):
    """128 bytes to pass by value for a `const __grid_constant__ CUtensorMap` parameter; keeps its array alive."""

    tensor: DeviceArray

    def __repr__(self) -> str:
        return f"TensorMap({getattr(self, 'tensor', 'of nothing')!r})"

    __str__ = __repr__


def tensor_map(
    array: DeviceArray, box: int | Sequence[int], *, swizzle: int = 0, fill: str = "zeros",
    element_strides: Sequence[int] | None = None, interleave: int = 0,
    im2col: tuple[Sequence[int], Sequence[int]] | None = None, shape: Sequence[int] | None = None,
    strides: Sequence[int] | None = None,
) -> TensorMap:  # fmt: skip
    """The map of a device array of one to five dimensions (cuTensorMapEncodeTiled, cuTensorMapEncodeIm2col).

    `box`: elements of each dimension that a copy spans, in the array's own order (a kernel gives the corner the other
    way round, the dimension that varies fastest first). `swizzle`: 0, 32, 64 or 128 bytes. `fill`: "zeros" or "nan" for
    elements outside of the array. `element_strides`: every how many-th element of each dimension is copied, 1 to 8; the
    last dimension has 1. `interleave`: 16 or 32 where channels lie in slices of so many bytes, for an array of shape
    (batch, slices, …, width, channels of a slice); the box has no last dimension then, and one slice.

    `im2col`: for an array of shape (batch, …, height, width, channels) the lower and the upper corner of the box that a
    filter's base walks through, relative to the image's first and last pixel, as (…, height, width); `box` is then
    (pixels, channels).

    `shape` and `strides` (bytes, as NumPy's) give the array's elements other dimensions: a matrix of (m, k) halves in
    panels of 64 columns is `shape=(k // 64, m, 64), strides=(128, 2 * k, 2)`. ValueError says what the hardware does
    not take.
    """
    if not isinstance(array, DeviceArray):
        type_name = type(array).__name__
        raise TypeError(f"tensor_map: a map is of an array on the device, not of a {type_name}: gs.to_device(…) first")
    view = _TensorMapView.of(array, shape, strides)
    plan = _plan(view, [box] if isinstance(box, int) else list(box), swizzle, fill, element_strides, interleave, im2col)
    raw = encoded(array.device.kind, array.address, plan)
    tensor = np.frombuffer(raw, np.uint8).view(TensorMap)
    tensor.tensor = array
    return tensor


@dataclass(frozen=True, slots=True)
class _TensorMapView:
    """An array's elements in the dimensions that a map has; `strides` in bytes."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]
    dtype_name: str

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @staticmethod
    def of(array: DeviceArray, shape: Sequence[int] | None, strides: Sequence[int] | None) -> _TensorMapView:
        if shape is None and strides is None:
            return _TensorMapView(array.address, array.shape, array.strides, array.dtype, array.dtype_name)
        if shape is None:
            raise ValueError("tensor_map: strides= goes with shape=")
        size, extents = array.dtype.itemsize, tuple(map(int, shape))
        steps = array.reshape(extents).strides if strides is None else tuple(map(int, strides))
        if len(steps) != len(extents) or not extents or steps[-1] != size or min(steps) < 0:
            raise ValueError(
                f"tensor_map: strides={steps} for shape={extents}: one for each dimension, in bytes, the last {size}"
            )
        end = sum((n - 1) * step for n, step in zip(extents, steps, strict=True)) + size
        if min(extents) < 1 or end > array.nbytes:
            raise ValueError(
                f"tensor_map: shape={extents} with strides={steps} reaches {end} bytes, the array has {array.nbytes}"
            )
        return _TensorMapView(array.address, extents, steps, array.dtype, array.dtype_name)


def _plan(
    array: _TensorMapView, box: list[int], swizzle: int, fill: str, steps: Sequence[int] | None, interleave: int,
    im2col: tuple[Sequence[int], Sequence[int]] | None,
) -> TensorMapLayout:  # fmt: skip
    name = array.dtype_name
    if name not in _OF_ARRAYS:
        raise ValueError(f"tensor_map: the hardware has no tensors of {name}; it has {', '.join(_OF_ARRAYS)}")
    if swizzle not in SWIZZLES:
        raise ValueError(f"tensor_map: swizzle={swizzle!r}: it is 0, 32, 64 or 128 bytes")
    if fill not in ("zeros", "nan") or (fill == "nan" and "FLOAT" not in _OF_ARRAYS[name]):
        raise ValueError(f'tensor_map: fill={fill!r} for {name}: it is "zeros", or "nan" for floating-point numbers')
    if interleave not in (0, 16, 32) or (interleave and im2col is not None):
        raise ValueError(f"tensor_map: interleave={interleave!r}: it is 0, 16 or 32 bytes, and 0 with im2col")
    sizes, strides = _dimensions(array, interleave)
    rank = len(sizes)
    if not 1 <= rank <= MOST_RANKS or len(box) != (rank if im2col is None else 2):
        raise ValueError(f"tensor_map: box {tuple(box)} for an array of {array.ndim} dimensions; both have 1 to 5")
    steps = list(steps if steps is not None else [1] * rank)[::-1]
    if len(steps) != rank or not all(1 <= n <= MOST_STEP for n in steps) or (steps[0] != 1 and not interleave):
        raise ValueError(
            f"tensor_map: element_strides={tuple(steps[::-1])}: one for each dimension, 1 to {MOST_STEP}, of the last 1"
        )
    if im2col is not None and steps[-1] != 1:
        raise ValueError("tensor_map: the batch of im2col has an element stride of 1")
    corners = None if im2col is None else _corners(im2col, rank)
    plan = TensorMapLayout(
        _OF_ARRAYS[name], sizes, strides, box[::-1], steps, swizzle, interleave, fill == "nan", corners
    )
    _check(plan, array.address)
    return plan


def _dimensions(array: _TensorMapView, interleave: int) -> tuple[list[int], list[int]]:
    """Sizes and strides, from the dimension that varies fastest; a slice of channels is no dimension of its own."""
    sizes, strides = list(array.shape[::-1]), list(array.strides[-2::-1])
    if not interleave:
        return sizes, strides
    slice_ = sizes[0] * array.dtype.itemsize if sizes else 0
    if array.ndim not in (4, 5, 6) or slice_ != interleave or strides[0] != interleave:
        raise ValueError(
            f"tensor_map: interleave={interleave} takes an array of 4 to 6 dimensions with {interleave} bytes of "
            f"channels in its last, (batch, slices, …, width, channels), not one of shape {tuple(array.shape)}"
        )
    return sizes[1:], strides[1:]


def _corners(im2col: tuple[Sequence[int], Sequence[int]], rank: int) -> tuple[list[int], list[int]]:
    images = rank - 2
    if images not in _CORNERS or len(im2col) != 2 or any(len(corner) != images for corner in im2col):
        raise ValueError(
            f"tensor_map: im2col={im2col!r} takes an array of 3 to 5 dimensions and two corners of "
            f"{max(images, 0)} numbers"
        )
    low, high = _CORNERS[images]
    if not all(low <= x <= high for corner in im2col for x in corner):
        raise ValueError(f"tensor_map: im2col={im2col!r}: the corners of {images} dimensions are {low} to {high}")
    return list(im2col[0][::-1]), list(im2col[1][::-1])


def _check(plan: TensorMapLayout, address: int) -> None:
    """The limits of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col."""
    width = TYPES[plan.type]
    for number, count in enumerate(plan.box):
        most = MOST_PIXELS if number and plan.corners is not None else MOST_BOX
        if not 1 <= count <= most:
            raise ValueError(f"tensor_map: a box has 1 to {most} elements in each dimension, not {count}")
    for size in plan.sizes:
        if not 1 <= size < 1 << 32:
            raise ValueError(f"tensor_map: a dimension of {size} elements; 1 to 2³² - 1 can be copied from")
    row, unit = plan.box[0] * width, max(16, plan.interleave)
    if row % 16:
        raise ValueError(f"tensor_map: a row of the box is {row} bytes, which must be a multiple of 16")
    if plan.swizzle and row > plan.swizzle and not plan.interleave:
        raise ValueError(f"tensor_map: a row of the box is {row} bytes, which swizzle={plan.swizzle} cannot hold")
    if plan.interleave == 32 and plan.swizzle != 32:
        raise ValueError(f"tensor_map: interleave=32 goes with swizzle=32, not {plan.swizzle}")
    for stride in plan.strides:
        if stride % unit or stride >= 1 << 40:
            raise ValueError(
                f"tensor_map: rows of the array are {stride} bytes apart, which must be a multiple of {unit}: pad its "
                "last dimension"
            )
    if address % unit:
        raise ValueError(f"tensor_map: the array starts at {address:#x}, which is not a multiple of {unit}")
    for low, high, size in zip(*(plan.corners or ((), ())), plan.sizes[1:], strict=False):
        if low >= size + high:
            raise ValueError(f"tensor_map: the box of im2col from {low} to {size + high - 1} is empty")


def encoded(kind: str, address: int, plan: TensorMapLayout) -> bytes:
    """The 128 bytes that a GPU of this kind, physical or virtual, reads."""
    if kind == "physical":
        return _by_driver(address, plan)
    from gridstride.virtual.machine.memory.tensor_map import encode

    return encode(address, plan, list(TYPES).index(plan.type))


def _by_driver(address: int, plan: TensorMapLayout) -> bytes:
    cu = bindings()
    swizzle = f"{plan.swizzle}B" if plan.swizzle else "NONE"
    interleave = f"{plan.interleave}B" if plan.interleave else "NONE"
    fill = "NAN_REQUEST_ZERO_FMA" if plan.nan else "NONE"
    what = (
        getattr(cu.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{plan.type}"), len(plan.sizes), address,
        [cu.cuuint64_t(n) for n in plan.sizes],
        [cu.cuuint64_t(n) for n in plan.strides or [16]],  # the driver wants a list for one dimension too
    )  # fmt: skip
    how = (
        [cu.cuuint32_t(n) for n in plan.steps],
        getattr(cu.CUtensorMapInterleave, f"CU_TENSOR_MAP_INTERLEAVE_{interleave}"),
        getattr(cu.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{swizzle}"),
        cu.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_NONE,
        getattr(cu.CUtensorMapFloatOOBfill, f"CU_TENSOR_MAP_FLOAT_OOB_FILL_{fill}"),
    )
    if plan.corners is None:
        handle = check(
            cu.cuTensorMapEncodeTiled(*what, [cu.cuuint32_t(n) for n in plan.box], *how), "encoding a tensor map"
        )
    else:
        corners = (list(corner) for corner in plan.corners)
        handle = check(cu.cuTensorMapEncodeIm2col(*what, *corners, *plan.box, *how), "encoding a tensor map")
    return np.array([int(word) for word in handle.opaque], np.uint64).tobytes()
