"""Images in another size. Every mode is a table of places and weights for each axis, made on the host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import floor, prod
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.expressions import FLOATS, computed_type
from gridstride.frameworks.onnx.graph import Array
from gridstride.frameworks.onnx.launcher import ceil_div, element
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.gather_ops import chosen_along
from gridstride.frameworks.onnx.registry import Call, axis_of, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value

THREADS = 256
_SIZES_SINCE, _COORDINATES_SINCE = 11, 11
_REACH = {"linear": 1, "cubic": 2}
"""How far a weight reaches, in elements of the input."""


@dataclass(frozen=True, slots=True)
class ResizedAxis:
    """One axis: sizes before and after, the scale, and the region of it that tf_crop_and_resize takes."""

    size: int
    result: int
    scale: float
    region: tuple[float, float]


@dataclass(frozen=True, slots=True)
class ResizeMode:
    """The attributes of Resize that say where an element of the result lies, and how it is made."""

    mode: str = "nearest"
    coordinates: str = "half_pixel"
    nearest: str = "round_prefer_floor"
    cubic_a: float = -0.75
    exclude_outside: bool = False
    outside: float = 0.0
    antialias: bool = False


@operator("Resize", "Upsample")
def resize(call: Call) -> Value:
    x = call.tensor(0)
    mode = _mode(call)
    axes = [axis_of(axis, len(x.shape)) for axis in call.get("axes") or range(len(x.shape))]
    for number, axis in zip(axes, _axes(call, x, axes), strict=True):
        if axis.size != axis.result or axis.scale != 1 or mode.coordinates == "tf_crop_and_resize":
            x = _resized(call, x, number, axis, mode)
    return x


def _mode(call: Call) -> ResizeMode:
    if call.node.op == "Upsample" or call.opset < _COORDINATES_SINCE:
        return ResizeMode(call.get("mode", "nearest"), "asymmetric", "floor")
    return ResizeMode(
        call.get("mode", "nearest"), call.get("coordinate_transformation_mode", "half_pixel"),
        call.get("nearest_mode", "round_prefer_floor"), call.get("cubic_coeff_a", -0.75),
        bool(call.get("exclude_outside", 0)), call.get("extrapolation_value", 0.0), bool(call.get("antialias", 0)),
    )  # fmt: skip


def _axes(call: Call, x: Tensor, axes: Sequence[int]) -> list[ResizedAxis]:
    """Sizes of the result, by `sizes` or by `scales`."""
    old = call.node.op == "Upsample" or call.opset < _SIZES_SINCE
    input_sizes = [x.shape[axis] for axis in axes]
    regions = [(0.0, 1.0)] * len(axes)
    if not old and call.has(1) and call.get("coordinate_transformation_mode") == "tf_crop_and_resize":
        roi = _floats(call, 1)
        if len(roi) != 2 * len(axes):
            raise OnnxError(f"roi has {len(roi)} values: {2 * len(axes)} belong there")
        regions = list(zip(roi[: len(axes)], roi[len(axes) :], strict=True))
    input_index = 1 if old else 2
    scales = call.get("scales") or (_floats(call, input_index) if call.has(input_index) else [])
    if scales:
        if len(scales) != len(axes) or any(scale <= 0 for scale in scales):
            raise OnnxError(f"scales {scales} are not {len(axes)} numbers above 0")
        sized = [floor(n * (b - a) * s) for n, s, (a, b) in zip(input_sizes, scales, regions, strict=True)]
        return [ResizedAxis(*fields) for fields in zip(input_sizes, sized, scales, regions, strict=True)]
    sizes = call.integers(3) or []
    if len(sizes) != len(axes) or any(n < 0 for n in sizes):
        raise OnnxError(f"sizes {sizes} are not {len(axes)} sizes, and there are no scales")
    policy = call.get("keep_aspect_ratio_policy", "stretch")
    scales = [n / m if m else 1.0 for n, m in zip(sizes, input_sizes, strict=True)]
    if policy != "stretch":
        scales = [(min if policy == "not_larger" else max)(scales)] * len(axes)
        sizes = [floor(scale * m + 0.5) for scale, m in zip(scales, input_sizes, strict=True)]
    return [ResizedAxis(*fields) for fields in zip(input_sizes, sizes, scales, regions, strict=True)]


def _floats(call: Call, index: int) -> list[float]:
    return [float(n) for n in np.asarray(call.run.on_host(call.value(index)), np.float32).reshape(-1)]


def _resized(call: Call, tensor: Tensor, number: int, axis: ResizedAxis, mode: ResizeMode) -> Tensor:
    run, x = call.run, call.run.contiguous(tensor)
    out = run.empty([*x.shape[:number], axis.result, *x.shape[number + 1 :]], x.dtype)
    if not out.size:
        return out
    if not axis.size:
        raise OnnxError(f"axis {number} has no element to make {axis.result} of")
    positions, weights, constants = table(axis, mode)
    if mode.mode == "nearest" and not constants.any() and positions.shape[1] == 1:
        return chosen_along(run, x, number, positions[:, 0].astype(np.int64))
    work = computed_type(x.dtype, "x")
    dtype = np.dtype(np.float64 if work == "double" else np.float32)
    kernel = run.own("resample.cu", "onnx_resample", ELEMENT=element(x, "x", FLOATS), WORK=work)
    tables = [run.on_device(array) for array in (positions, weights.astype(dtype), constants.astype(dtype))]
    sizes = [out.size, axis.size, axis.result, prod(x.shape[number + 1 :]), positions.shape[1]]
    run.launch(kernel, ceil_div(out.size, THREADS), THREADS, [x, *tables, out, *sizes])
    return out


def table(axis: ResizedAxis, mode: ResizeMode) -> tuple[Array, Array, Array]:
    """For each element of the result: places that it is made of, int32 [result, taps], their weights, a constant."""
    at = _coordinates(axis, mode)
    base = np.ceil(at) - 1  # in front of `at`, never at it
    if mode.mode == "nearest":
        taps = (base + _rounded(at - base, mode.nearest))[:, None]
        weights = np.ones_like(taps)
    else:
        taps, weights = _weighted(at, base, axis, mode)
    if mode.exclude_outside:
        weights = np.where((taps < 0) | (taps >= axis.size), 0.0, weights)
        weights = weights / weights.sum(1, keepdims=True)
    constants = np.zeros(axis.result)
    if mode.coordinates == "tf_crop_and_resize":
        beyond = (at < 0) | (at > axis.size - 1)
        weights, constants = np.where(beyond[:, None], 0.0, weights), np.where(beyond, mode.outside, 0.0)
    return np.clip(taps, 0, axis.size - 1).astype(np.int32), weights, constants


def _coordinates(axis: ResizedAxis, mode: ResizeMode) -> Array:
    """Where each element of the result lies in the input."""
    x, n, m, scale = np.arange(axis.result, dtype=np.float64), axis.size, axis.result, axis.scale
    half = (x + 0.5) / scale - 0.5
    if mode.coordinates == "half_pixel":
        return half
    if mode.coordinates == "half_pixel_symmetric":
        return n / 2 * (1 - m / (scale * n)) + half
    if mode.coordinates == "pytorch_half_pixel":
        return half if m > 1 else np.zeros(m)
    if mode.coordinates == "align_corners":
        width = scale * n
        return np.zeros(m) if width == 1 or m <= 1 else x * (n - 1) / (width - 1)
    if mode.coordinates == "asymmetric":
        return x / scale
    if mode.coordinates == "tf_crop_and_resize":
        start, end = axis.region
        if m > 1:
            return start * (n - 1) + x * (end - start) * (n - 1) / (m - 1)
        return np.full(m, 0.5 * (start + end) * (n - 1))
    raise OnnxError(f"coordinate_transformation_mode {mode.coordinates!r} is not known")


def _rounded(ratio: Array, how: str) -> Array:
    """1 where the place behind is nearer than the one in front, as the mode breaks ties; `ratio` is in (0, 1]."""
    rounding: dict[str, Any] = {
        "round_prefer_floor": ratio > 0.5, "round_prefer_ceil": ratio >= 0.5, "floor": ratio == 1, "ceil": ratio > 0,
    }  # fmt: skip
    if how not in rounding:
        raise OnnxError(f"nearest_mode {how!r} is not known")
    return np.asarray(rounding[how], np.float64)


def _weighted(at: Array, base: Array, axis: ResizedAxis, mode: ResizeMode) -> tuple[Array, Array]:
    if mode.mode not in _REACH:
        raise OnnxError(f"mode {mode.mode!r} is not known: nearest, linear and cubic are")
    shrink = min(axis.scale, 1.0) if mode.antialias else 1.0
    reach = _REACH[mode.mode]
    first = floor(-reach / shrink) + 1
    steps = np.arange(first, 2 - first if mode.mode == "linear" or mode.antialias else 3, dtype=np.float64)
    distance = np.abs(steps[None, :] - (at - base)[:, None]) * shrink
    weights = np.maximum(0.0, 1 - distance) if mode.mode == "linear" else _cubic(distance, mode.cubic_a)
    if mode.antialias:
        weights = weights / weights.sum(1, keepdims=True)
    return base[:, None] + steps[None, :], weights


def _cubic(d: Array, a: float) -> Array:
    """Keys' kernel."""
    near = ((a + 2) * d - (a + 3)) * d * d + 1
    far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
    return np.where(d <= 1, near, np.where(d < 2, far, 0.0))
