"""Quantization and products of 8-bit integers (dp4a), with the way back to numbers in the same kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from gridstride.frameworks.onnx.elementwise import evaluate
from gridstride.frameworks.onnx.expressions import computed_type
from gridstride.frameworks.onnx.generated_kernel import Operand
from gridstride.frameworks.onnx.graph import Array
from gridstride.frameworks.onnx.launcher import Launcher, ceil_div
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.product_ops import activation_macro
from gridstride.frameworks.onnx.operators.reduction_ops import Reduction, reduced
from gridstride.frameworks.onnx.registry import Call, axis_of, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value

INT8_LINEAR = "gridstride::Int8Linear"
"""Inputs: a, its scale and zero point, b, its scale and zero point, bias, and where the result is quantized its scale
and zero point; an activation in `body`."""
_SIDE = 16
_BYTES = ("int8", "uint8")
_OUTPUTS = {"int32": 0, "float32": 1, "uint8": 2, "int8": 3}
_RANGE_THREADS = 1024
_ONE_BLOCK = 1 << 16
"""Elements whose range one block finds; of more, reductions of the whole GPU do, in four launches."""
_LEAST = Reduction("0", "((a) < (b) ? (a) : (b))")
_MOST = Reduction("0", "((a) > (b) ? (a) : (b))")


# -- to integers and back ----------------------------------------------------------------------------------------------
def _along(parameter: Tensor, x: Tensor, axis: int) -> Tensor:
    """A scale or zero point of each element along an axis, or of all."""
    if parameter.size == 1:
        return parameter.reshaped(())
    if len(parameter.shape) != 1 or parameter.size != x.shape[axis]:
        raise OnnxError(f"scales of shape {list(parameter.shape)} for {list(x.shape)}: one, or one for each of an axis")
    return parameter.reshaped([*parameter.shape, *[1] * (len(x.shape) - axis - 1)])


@operator("QuantizeLinear")
def quantize(call: Call) -> Value:
    x = call.tensor(0)
    axis = axis_of(call.get("axis", 1), len(x.shape)) if len(x.shape) > 1 else 0
    scale = _along(call.dense(1), x, axis)
    zero = _along(call.dense(2), x, axis) if call.has(2) else None
    return _quantized(call.run, x, scale, zero)


def _quantized(run: Launcher, x: Tensor, scale: Tensor, zero: Tensor | None) -> Tensor:
    dtype = zero.dtype if zero is not None else np.dtype(np.uint8)
    if dtype.kind not in "iu" or dtype.itemsize > 2:
        raise OnnxError(f"the zero point is {dtype}: int8, uint8, int16 and uint16 are supported")
    info, kind = np.iinfo(dtype), computed_type(x.dtype, "x")
    tensors = [x, scale] + ([zero] if zero is not None else [])
    lines = [f"const {kind} a0 = ({kind})x0[p0] / ({kind})x1[p1];"]
    lines.append(f"const int z = {'x2[p2]' if zero is not None else '0'};")
    lines.append(f"const int v = saturated(a0, {info.min} - z, {info.max} - z) + z;")
    operands = [Operand(t.dtype, t) for t in tensors]
    return evaluate(run, "quantize", lines, "v", dtype, operands)


@operator("DequantizeLinear")
def dequantize(call: Call) -> Value:
    x = call.tensor(0)
    axis = axis_of(call.get("axis", 1), len(x.shape)) if len(x.shape) > 1 else 0
    scale = _along(call.dense(1), x, axis)
    tensors = [x, scale] + ([_along(call.dense(2), x, axis)] if call.has(2) else [])
    kind = computed_type(scale.dtype, "the scale")
    zero = "(int)x2[p2]" if call.has(2) else "0"
    lines = [f"const {kind} v = ({kind})((int)x0[p0] - {zero}) * ({kind})x1[p1];"]
    return evaluate(call.run, "dequantize", lines, "v", scale.dtype, [Operand(t.dtype, t) for t in tensors])


@operator("DynamicQuantizeLinear")
def dynamic_quantize(call: Call) -> list[Value]:
    """To uint8 by the least and the largest element, 0 among them."""
    run, x = call.run, call.tensor(0)
    if 0 < x.size <= _ONE_BLOCK and x.dtype.name == "float32":
        dense, scale, zero = run.contiguous(x), run.empty((), "float32"), run.empty((), "uint8")
        run.launch(run.own("dynamic_range.cu", "onnx_dynamic_range"), 1, _RANGE_THREADS, [dense, scale, zero, x.size])
        return [_quantized(run, x, scale, zero), scale, zero]
    axes = list(range(len(x.shape)))
    least, most = (reduced(run, x, axes, how, keep=False).reshaped(()) for how in (_LEAST, _MOST))
    ends = [Operand(t.dtype, t) for t in (least, most)]
    lines = ["const float s = (x1[p1] - x0[p0]) / 255.0f;"]
    scale = evaluate(run, "dynamic_scale", lines, "s", np.dtype(np.float32), ends)
    pair = [Operand(t.dtype, t) for t in (least, scale)]
    lines = ["const int v = saturated(x1[p1] == 0.0f ? 0.0f : -x0[p0] / x1[p1], 0, 255);"]
    zero = evaluate(run, "dynamic_zero", lines, "v", np.dtype(np.uint8), pair)
    return [_quantized(run, x, scale, zero), scale, zero]


# -- products ----------------------------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Packed:
    """A weight [K, N] as the kernel takes it: four rows of a column in a word, and the sum of each column."""

    words: Tensor
    sums: Tensor
    zero: Tensor | None  # int8, as B is made; of each column or of all
    rows: int
    columns: int


def packed(run: Launcher, weight: Array, zero: Array | None) -> Packed:
    """int8, or uint8 less 128."""
    if weight.ndim != 2 or weight.dtype.name not in _BYTES:
        raise OnnxError(f"B is {weight.dtype} {list(weight.shape)}: a matrix of int8 or uint8 is supported")
    shift = 128 if weight.dtype == np.uint8 else 0
    signed = (weight.astype(np.int16) - shift).astype(np.int8)
    rows, columns = weight.shape
    padded = np.zeros((4 * ceil_div(rows, 4), columns), np.int8)
    padded[:rows] = signed
    words = padded.reshape(-1, 4, columns).transpose(0, 2, 1).copy().view(np.int32)[..., 0]
    sums = signed.astype(np.int32).sum(0, dtype=np.int32)
    points = None
    if zero is not None or shift:
        zero_points = np.zeros(1, np.int16) if zero is None else zero.reshape(-1).astype(np.int16)
        points = run.on_device((zero_points - shift).astype(np.int8))
    return Packed(run.on_device(words), run.on_device(sums), points, rows, columns)


def _packed(call: Call, weight: int, zero: int) -> Packed:
    name = call.node.inputs[weight]

    def make() -> Packed:
        b = call.run.on_host(call.value(weight))
        point = call.run.on_host(call.value(zero)) if call.has(zero) else None
        return packed(call.run, b, point)

    packed_weight: Packed = call.keep("packed", name, make) if name in call.constants else make()
    return packed_weight


@operator("MatMulInteger")
def matmul_integer(call: Call) -> Value:
    b = _packed(call, 1, 3)
    return _product(call, call.dense(0), call.optional(2), b, np.dtype(np.int32), [None] * 5)


@operator(INT8_LINEAR)
def int8_linear(call: Call) -> Value:
    b = _packed(call, 3, 5)
    scale, zero = call.optional(7), call.optional(8)
    dtype = np.dtype(np.float32) if scale is None else np.dtype(np.uint8) if zero is None else zero.dtype
    scales = [call.dense(1), call.dense(4), call.optional(6), scale, zero]
    return _product(call, call.dense(0), call.optional(2), b, dtype, scales)


def _product(
    call: Call, a: Tensor, zero_a: Tensor | None, b: Packed, dtype: np.dtype, scales: Sequence[Tensor | None]
) -> Tensor:
    if a.dtype.name not in _BYTES:
        raise OnnxError(f"A is {a.dtype}: int8 or uint8 is supported")
    if a.shape[-1] != b.rows:
        raise OnnxError(
            f"A {list(a.shape)} times B [{b.rows}, {b.columns}]: {a.shape[-1]} columns do not meet its rows"
        )
    if zero_a is not None and zero_a.size != 1:
        raise OnnxError(f"A has {zero_a.size} zero points: one is supported")
    out = call.run.empty([*a.shape[:-1], b.columns], dtype)
    rows = prod(a.shape[:-1])
    if not out.size:
        return out
    columned = [t for t in (b.zero, scales[1]) if t is not None]
    per_column = int(any(t.size > 1 for t in columned))
    if per_column:
        columned_zero, columned_scale = (_each_column(call, t, b.columns) for t in (b.zero, scales[1]))
    else:
        columned_zero, columned_scale = b.zero, scales[1]
    activation = call.node.body[0] if call.node.body else None
    kernel = call.run.own(
        "gemm_int8.cu", "onnx_gemm_int8", SIGNED_A=int(a.dtype == np.int8), OUTPUT=_OUTPUTS[dtype.name],
        **activation_macro(activation),
    )  # fmt: skip
    args = [a, zero_a, b.words, b.sums, columned_zero, per_column, scales[0], columned_scale, *scales[2:], out]
    grid = (ceil_div(rows, _SIDE), ceil_div(b.columns, _SIDE))
    call.run.launch(kernel, grid, (_SIDE, _SIDE), [*args, rows, b.columns, b.rows])
    return out


def _each_column(call: Call, parameter: Tensor | None, columns: int) -> Tensor | None:
    """One for each column, where another parameter has as many."""
    if parameter is None or parameter.size == columns:
        return parameter
    return call.run.contiguous(parameter.reshaped((1,)).expanded((columns,)))
