"""Transposed convolution in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from gridstride.frameworks.onnx.launcher import ceil_div, summed_element
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.convolution_ops import AXES, three
from gridstride.frameworks.onnx.registry import Call, operator
from gridstride.frameworks.onnx.tensors import Value

THREADS = 128


@operator("ConvTranspose")
def convolution_transposed(call: Call) -> Value:
    x, w, bias = call.dense(0), call.dense(1), call.optional(2)
    if not 3 <= len(x.shape) <= 2 + AXES or len(w.shape) != len(x.shape):
        raise OnnxError(f"x has {len(x.shape)} axes, w {len(w.shape)}: one, two and three dimensions are supported")
    groups = call.get("group", 1)
    if groups < 1 or w.shape[0] != x.shape[1] or x.shape[1] % groups:
        raise OnnxError(f"x has {x.shape[1]} channels, w {list(w.shape)} in {groups} groups takes {w.shape[0]}")
    count = len(x.shape) - 2
    strides, steps = (call.get(name) or [1] * count for name in ("strides", "dilations"))
    if any(n < 1 for n in (*strides, *steps)):
        raise OnnxError(f"strides {list(strides)} and dilations {list(steps)} must be 1 or above")
    sizes, pads = _sizes_and_pads(call, x.shape[2:], w.shape[2:], strides, steps)
    channels = w.shape[1] * groups
    out = call.run.empty((x.shape[0], channels, *sizes), x.dtype)
    if out.size:
        kernel = call.run.own("convolution_transposed.cu", "onnx_convolution_transposed", **summed_element(x, "x"))
        args = [
            x, w, bias, out, out.size, x.shape[1], *three(x.shape[2:], 1), channels, *three(sizes, 1),
            *three(w.shape[2:], 1), groups, *three(strides, 1), *three(pads, 0), *three(steps, 1),
        ]  # fmt: skip
        call.run.launch(kernel, ceil_div(out.size, THREADS), THREADS, args)
    return out


def _sizes_and_pads(
    call: Call, image: Sequence[int], window: Sequence[int], strides: Sequence[int], steps: Sequence[int]
) -> tuple[list[int], list[int]]:
    """Sizes of the result, and the pads in front of it."""
    count, auto = len(image), call.get("auto_pad", "NOTSET")
    more = call.get("output_padding") or [0] * count
    full = [
        stride * (n - 1) + extra + (size - 1) * step + 1
        for n, size, stride, step, extra in zip(image, window, strides, steps, more, strict=True)
    ]
    output_shape = call.get("output_shape")
    if output_shape or auto in ("SAME_UPPER", "SAME_LOWER"):
        sizes = (
            list(output_shape[-count:])
            if output_shape
            else [n * stride for n, stride in zip(image, strides, strict=True)]
        )
        total = [max(a - b, 0) for a, b in zip(full, sizes, strict=True)]
        return sizes, [n // 2 if auto == "SAME_UPPER" else n - n // 2 for n in total]
    pads = (call.get("pads") if auto != "VALID" else None) or [0] * (2 * count)
    sizes = [n - a - b for n, a, b in zip(full, pads[:count], pads[count:], strict=True)]
    if any(n < 0 for n in sizes):
        raise OnnxError(f"pads {list(pads)} are more than there is: {full}")
    return sizes, list(pads[:count])
