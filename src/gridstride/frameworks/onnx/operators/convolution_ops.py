"""Convolution and pooling in one and two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.launcher import ceil_div, element
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.product_ops import activation_macro
from gridstride.frameworks.onnx.operators.reduction_ops import Reduction, reduced
from gridstride.frameworks.onnx.registry import Call, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value

CONVOLUTION = "gridstride::Convolution"
"""Conv with an activation behind."""
THREADS = 128
_MEAN = Reduction("0", "(a) + (b)", finish="(a) / count")
_MAX = Reduction("LOWEST", "((a) != (a) || (a) > (b) ? (a) : (b))")


@dataclass(frozen=True, slots=True)
class Window:
    """A window that moves over an image, [height, width] each; `ends` are the pads behind."""

    sizes: tuple[int, int]
    strides: tuple[int, int]
    pads: tuple[int, int]
    ends: tuple[int, int]
    steps: tuple[int, int]

    def positions(self, image: Sequence[int], *, rounded_up: bool = False) -> tuple[int, int]:
        """Rows and columns of the result."""
        found = []
        for n, size, stride, pad, end, step in zip(
            image, self.sizes, self.strides, self.pads, self.ends, self.steps, strict=True
        ):
            room = n + pad + end - (step * (size - 1) + 1)
            count = (ceil(room / stride) if rounded_up else room // stride) + 1
            if rounded_up and (count - 1) * stride >= n + pad:  # a window must begin in the image or its front pad
                count -= 1
            if count < 1:
                raise OnnxError(f"a window of {list(self.sizes)} is larger than the padded image {list(image)}")
            found.append(count)
        return found[0], found[1]


def _window(call: Call, sizes: Sequence[int], image: Sequence[int]) -> Window:
    """The attributes, for one dimension with a height of 1."""
    flat = len(sizes) == 1

    def two(values: Sequence[int], fill: int) -> tuple[int, int]:
        return (fill, values[0]) if flat else (values[0], values[1])

    for name in ("kernel_shape", "strides", "dilations"):
        if any(n < 1 for n in call.get(name) or ()):
            raise OnnxError(f"{name} {call.get(name)} must be 1 or above")
    strides = two(call.get("strides") or [1] * len(sizes), 1)
    steps = two(call.get("dilations") or [1] * len(sizes), 1)
    kernel, auto = two(sizes, 1), call.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        total = [
            max((ceil_div(n, stride) - 1) * stride + step * (size - 1) + 1 - n, 0)
            for n, stride, step, size in zip(two(image, 1), strides, steps, kernel, strict=True)
        ]
        less, more = [n // 2 for n in total], [n - n // 2 for n in total]
        ahead, behind = (less, more) if auto == "SAME_UPPER" else (more, less)
        return Window(kernel, strides, (ahead[0], ahead[1]), (behind[0], behind[1]), steps)
    pads = call.get("pads") if auto != "VALID" else None
    pads = pads or [0] * (2 * len(sizes))
    return Window(kernel, strides, two(pads[: len(sizes)], 0), two(pads[len(sizes) :], 0), steps)


def _image(call: Call, x: Tensor) -> Tensor:
    """[N, C, H, W]; a height of 1 for one dimension."""
    if len(x.shape) not in (3, 4):
        raise OnnxError(f"x has {len(x.shape)} axes: one and two dimensions are supported (3 or 4 axes)")
    return x.reshaped((x.shape[0], x.shape[1], 1, x.shape[2])) if len(x.shape) == 3 else x


@operator("Conv", CONVOLUTION)
def convolution(call: Call) -> Value:
    x, w, bias = call.dense(0), call.dense(1), call.optional(2)
    out, sizes = _convolved(call, x, w, x.dtype)
    if out.size:
        activation = call.node.body[0] if call.node.body else None
        macros = {"ELEMENT": element(x, "x"), **activation_macro(activation)}
        kernel = call.run.own("convolution.cu", "onnx_convolution", **macros)
        call.run.launch(kernel, ceil_div(out.size, THREADS), THREADS, [x, w, bias, out, *sizes])
    return _like(out, x)


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
    return _like(out, x)


def _convolved(call: Call, given: Tensor, w: Tensor, dtype: np.dtype[Any]) -> tuple[Tensor, list[int]]:
    """Memory for the result, and the sizes that both kernels take: from its elements to the dilations."""
    x, groups = _image(call, given), call.get("group", 1)
    if groups < 1 or w.shape[1] * groups != x.shape[1]:
        takes = w.shape[1] * groups
        raise OnnxError(f"x has {x.shape[1]} channels, w {list(w.shape)} in {groups} groups takes {takes}")
    window = _window(call, w.shape[2:], given.shape[2:])
    rows, columns = window.positions(x.shape[2:])
    out = call.run.empty((x.shape[0], w.shape[0], rows, columns), dtype)
    sizes = [out.size, *x.shape[1:], w.shape[0], rows, columns, *window.sizes, groups]
    return out, [*sizes, *window.strides, *window.pads, *window.steps]


@operator("MaxPool", "AveragePool")
def pool(call: Call) -> Value:
    if len(call.node.outputs) > 1 and call.node.outputs[1]:
        raise OnnxError("the places of the largest are not given: only the largest are")
    dense = call.dense(0)
    x, kind, mean = _image(call, dense), element(dense, "x"), call.node.op == "AveragePool"
    window = _window(call, call.get("kernel_shape"), dense.shape[2:])
    rows, columns = window.positions(x.shape[2:], rounded_up=bool(call.get("ceil_mode", 0)))
    out = call.run.empty((*x.shape[:2], rows, columns), x.dtype)
    if out.size:
        counted = int(mean and call.get("count_include_pad", 0))
        kernel = call.run.own("pooling.cu", "onnx_pooling", ELEMENT=kind, MEAN=int(mean), COUNT_PADS=counted)
        args = [x, out, out.size, *x.shape[2:], rows, columns, *window.sizes, *window.strides, *window.pads]
        call.run.launch(kernel, ceil_div(out.size, THREADS), THREADS, [*args, *window.ends, *window.steps])
    return _like(out, dense)


def _like(out: Tensor, x: Tensor) -> Tensor:
    """Without the height again where there was none."""
    return out.reshaped((*out.shape[:2], out.shape[3])) if len(x.shape) == 3 else out


@operator("GlobalAveragePool", "GlobalMaxPool")
def global_pool(call: Call) -> Value:
    x = call.tensor(0)
    how = _MEAN if call.node.op == "GlobalAveragePool" else _MAX
    return reduced(call.run, x, list(range(2, len(x.shape))), how)
