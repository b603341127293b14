"""Convolution and pooling in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.launcher import ceil_div, element, summed_element
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.product_ops import activation_macro
from gridstride.frameworks.onnx.operators.reduction_ops import Reduction, reduced
from gridstride.frameworks.onnx.registry import Call, Results, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value

CONVOLUTION = "gridstride::Convolution"
"""Conv with an activation behind."""
THREADS = 128
AXES = 3
"""Of a window, in the kernels."""
_MEAN = Reduction("0", "(a) + (b)", finish="(a) / count")
_MAX = Reduction("LOWEST", "((a) != (a) || (a) > (b) ? (a) : (b))")


@dataclass(frozen=True, slots=True)
class Window:
    """A window that moves over an image, [depth, height, width] each; `ends` are the pads behind."""

    sizes: Sequence[int]
    strides: Sequence[int]
    pads: Sequence[int]
    ends: Sequence[int]
    steps: Sequence[int]

    def positions(self, image: Sequence[int], *, rounded_up: bool = False) -> list[int]:
        """Layers, rows and columns of the result."""
        counts = []
        for n, size, stride, pad, end, step in zip(
            image, self.sizes, self.strides, self.pads, self.ends, self.steps, strict=True
        ):
            room = n + pad + end - (step * (size - 1) + 1)
            count = (ceil(room / stride) if rounded_up else room // stride) + 1
            if rounded_up and (count - 1) * stride >= n + pad:  # a window must begin in the image or its front pad
                count -= 1
            if count < 1:
                raise OnnxError(f"a window of {list(self.sizes)} is larger than the padded image {list(image)}")
            counts.append(count)
        return counts


def three(values: Sequence[int], fill: int) -> list[int]:
    """Of depth, height and width, those in front that an image has not filled up."""
    return [fill] * (AXES - len(values)) + list(values)


def _window(call: Call, sizes: Sequence[int], image: Sequence[int]) -> Window:
    """The attributes, with a depth and a height of 1 where there is none."""
    for name in ("kernel_shape", "strides", "dilations"):
        if any(n < 1 for n in call.get(name) or ()):
            raise OnnxError(f"{name} {call.get(name)} must be 1 or above")
    strides = three(call.get("strides") or [1] * len(sizes), 1)
    steps = three(call.get("dilations") or [1] * len(sizes), 1)
    kernel, auto = three(sizes, 1), call.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        total = [
            max((ceil_div(n, stride) - 1) * stride + step * (size - 1) + 1 - n, 0)
            for n, stride, step, size in zip(three(image, 1), strides, steps, kernel, strict=True)
        ]
        less, more = [n // 2 for n in total], [n - n // 2 for n in total]
        before, after = (less, more) if auto == "SAME_UPPER" else (more, less)
        return Window(kernel, strides, before, after, steps)
    pads = call.get("pads") if auto != "VALID" else None
    pads = pads or [0] * (2 * len(sizes))
    return Window(kernel, strides, three(pads[: len(sizes)], 0), three(pads[len(sizes) :], 0), steps)


def _check_image(x: Tensor, axes: int) -> None:
    """[N, C, W], [N, C, H, W] or [N, C, D, H, W], with a window of as many axes."""
    if not 3 <= len(x.shape) <= 2 + AXES:
        raise OnnxError(f"x has {len(x.shape)} axes: one, two and three dimensions are supported (3 to 5 axes)")
    if axes != len(x.shape) - 2:
        raise OnnxError(f"x has {len(x.shape)} axes, the window {axes}: there must be two fewer")


@operator("Conv", CONVOLUTION)
def convolution(call: Call) -> Value:
    x, w, bias = call.dense(0), call.dense(1), call.optional(2)
    out, sizes = _convolved(call, x, w, x.dtype)
    if out.size:
        activation = call.node.body[0] if call.node.body else None
        macros = {**summed_element(x, "x"), **activation_macro(activation)}
        kernel = call.run.own("convolution.cu", "onnx_convolution", **macros)
        call.run.launch(kernel, ceil_div(out.size, THREADS), THREADS, [x, w, bias, out, *sizes])
    return out


@operator("ConvInteger")
def convolution_integer(call: Call) -> Value:
    x, w, zero_x, zero_w = call.dense(0), call.dense(1), call.optional(2), call.optional(3)
    out, sizes = _convolved(call, x, w, np.dtype(np.int32))
    if out.size:
        macros = {name: element(t, name, ("int8", "uint8")) for name, t in (("X", x), ("WEIGHT", w))}
        kernel = call.run.own("convolution_int8.cu", "onnx_convolution_int8", **macros)
        per_channel = int(zero_w is not None and zero_w.size > 1)
        args = [x, w, zero_x, zero_w, per_channel, out, *sizes]
        call.run.launch(kernel, ceil_div(out.size, THREADS), THREADS, args)
    return out


def _convolved(call: Call, x: Tensor, w: Tensor, dtype: np.dtype[Any]) -> tuple[Tensor, list[int]]:
    """Memory for the result, and the sizes that both kernels take: from its elements to the dilations."""
    _check_image(x, len(w.shape) - 2)
    groups = call.get("group", 1)
    if groups < 1 or w.shape[1] * groups != x.shape[1]:
        takes = w.shape[1] * groups
        raise OnnxError(f"x has {x.shape[1]} channels, w {list(w.shape)} in {groups} groups takes {takes}")
    image = x.shape[2:]
    window = _window(call, w.shape[2:], image)
    positions = window.positions(three(image, 1))
    out = call.run.empty((x.shape[0], w.shape[0], *positions[AXES - len(image) :]), dtype)
    sizes = [out.size, x.shape[1], *three(image, 1), w.shape[0], *positions, *window.sizes, groups]
    return out, [*sizes, *window.strides, *window.pads, *window.steps]


@operator("MaxPool", "AveragePool")
def pool(call: Call) -> Results:
    x, mean = call.dense(0), call.node.op == "AveragePool"
    image = x.shape[2:]
    _check_image(x, len(call.get("kernel_shape")))
    window = _window(call, call.get("kernel_shape"), image)
    sizes = window.positions(three(image, 1), rounded_up=bool(call.get("ceil_mode", 0)))
    out = call.run.empty((*x.shape[:2], *sizes[AXES - len(image) :]), x.dtype)
    indices = None
    if len(call.node.outputs) > 1 and call.node.outputs[1]:
        if call.get("storage_order", 0):
            raise OnnxError("storage_order 1 is not supported: the places of the largest are given in C order")
        indices = call.run.empty(out.shape, np.int64)
    if out.size:
        counted = int(mean and call.get("count_include_pad", 0))
        small = element(x, "x", ("int8", "uint8")) if x.dtype.itemsize == 1 and not mean else None
        types = {"ELEMENT": small, "SUM": "float"} if small else summed_element(x, "x")
        kernel = call.run.own("pooling.cu", "onnx_pooling", **types, MEAN=int(mean), COUNT_PADS=counted)
        args = [x, out, indices, out.size, *three(image, 1), *sizes, *window.sizes, *window.strides, *window.pads]
        call.run.launch(kernel, ceil_div(out.size, THREADS), THREADS, [*args, *window.ends, *window.steps])
    return out if indices is None else [out, indices]


@operator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(call: Call) -> Value:
    x = call.tensor(0)
    how = _MEAN if call.node.op == "GlobalAveragePool" else _MAX
    return reduced(call.run, x, list(range(2, len(x.shape))), how)
