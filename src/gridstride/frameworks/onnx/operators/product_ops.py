"""Products of matrices, with bias and activation in the same kernel where they were fused."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from gridstride.frameworks.onnx.elementwise import broadcast
from gridstride.frameworks.onnx.expressions import expression
from gridstride.frameworks.onnx.graph import Node
from gridstride.frameworks.onnx.launcher import Launcher, ceil_div, summed_element
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.registry import Call, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value, collapsed

LINEAR = "gridstride::Linear"
"""x W + b with an activation: what MatMul or Gemm, Add and the activation are fused into."""
_SIDE = 16
_LADDER = 256
"""From so many rows and columns on the ladder's kernel pays off, whose tile is 128 by 256."""
_LADDER_RUNG = "08_double_buffer"
_LADDER_SHARED = 2 * 4 * 16 * (128 + 4 + 256)


@dataclass(frozen=True, slots=True)
class Epilogue:
    """alpha product + beta bias, then an activation; the bias broadcasts to the product's rows and columns."""

    bias: Tensor | None = None
    alpha: float = 1.0
    beta: float = 1.0
    activation: Node | None = None

    @property
    def plain(self) -> bool:
        return self.bias is None and self.activation is None and self.alpha == 1.0


def activation_macro(activation: Node | None) -> dict[str, Any]:
    """The macro of our kernels that applies it."""
    return {} if activation is None else {"ACTIVATION(v)": expression(activation, ["(v)"])}


@operator("MatMul")
def matmul(call: Call) -> Value:
    return product(call.run, call.tensor(0), call.tensor(1), Epilogue())


@operator(LINEAR)
def linear(call: Call) -> Value:
    activation = call.node.body[0] if call.node.body else None
    weight = call.tensor(1)
    weight = weight.swapped(0, 1) if call.get("transB", 0) else weight
    bias = call.optional(2)
    return product(call.run, call.tensor(0), weight, Epilogue(bias, activation=activation))


@operator("Gemm")
def gemm(call: Call) -> Value:
    a, b = call.tensor(0), call.tensor(1)
    a = a.swapped(0, 1) if call.get("transA", 0) else a
    b = b.swapped(0, 1) if call.get("transB", 0) else b
    bias = call.tensor(2) if call.has(2) else None
    return product(call.run, a, b, Epilogue(bias, call.get("alpha", 1.0), call.get("beta", 1.0)))


def product(run: Launcher, a: Tensor, b: Tensor, end: Epilogue) -> Tensor:
    """a [..., M, K] times b [..., K, N], as NumPy's matmul has it: one axis is a row, or a column."""
    row, column = len(a.shape) == 1, len(b.shape) == 1
    a = a.with_axis(0) if row else a
    b = b.with_axis(1) if column else b
    if a.shape[-1] != b.shape[-2]:
        raise OnnxError(f"{list(a.shape)} times {list(b.shape)}: {a.shape[-1]} columns do not meet {b.shape[-2]} rows")
    if a.dtype != b.dtype:
        raise OnnxError(f"{a.dtype} times {b.dtype}: both must be of one type")
    out = _batched(run, a, b, end)
    shape = list(out.shape)
    if row:
        del shape[-2]
    if column:
        del shape[-1]
    return out.reshaped(shape)


def _batched(run: Launcher, a: Tensor, b: Tensor, end: Epilogue) -> Tensor:
    batch = broadcast([a.shape[:-2], b.shape[:-2]], "MatMul")
    rows, depth, columns = a.shape[-2], a.shape[-1], b.shape[-1]
    out = run.empty([*batch, rows, columns], a.dtype)
    if not out.size:
        return out
    if len(b.shape) == 2 and a.contiguous:  # all rows of a batch are one matrix
        flat = a.reshaped((prod(batch) * rows, depth))
        _write(run, flat, b, end, out.reshaped((prod(batch) * rows, columns)))
        return out
    wide_a, wide_b = a.expanded([*batch, rows, depth]), b.expanded([*batch, depth, columns])
    sizes, (step_a, step_b) = collapsed(batch, wide_a.strides[:-2], wide_b.strides[:-2])
    if len(sizes) > 2:
        wide_a, wide_b = run.contiguous(wide_a), run.contiguous(wide_b)
        sizes, (step_a, step_b) = collapsed(batch, wide_a.strides[:-2], wide_b.strides[:-2])
    leading = [1] * (2 - len(sizes))
    steps = [[0] * len(leading) + step for step in (step_a, step_b)]
    flat_a = wide_a.view([*leading, *sizes, rows, depth], [*steps[0], *wide_a.strides[-2:]])
    flat_b = wide_b.view([*leading, *sizes, depth, columns], [*steps[1], *wide_b.strides[-2:]])
    _write(run, flat_a, flat_b, end, out)
    return out


def _write(run: Launcher, a: Tensor, b: Tensor, end: Epilogue, out: Tensor) -> None:
    """Matrices, or batches of two axes; out in C order."""
    types, rows, depth, columns = summed_element(a, "a factor"), a.shape[-2], a.shape[-1], b.shape[-1]
    outer, inner = a.shape[:-2] or (1, 1)
    steps_a, steps_b = (t.strides[:-2] or (0, 0) for t in (a, b))
    if _fits_ladder(a, b, end):
        kernel = run.rung("matmul", _LADDER_RUNG)
        grid = (ceil_div(columns, 256), ceil_div(rows, 128))
        run.launch(kernel, grid, 256, [a, b, out, rows, columns, depth], shared=_LADDER_SHARED)
        return
    per_thread = 4 if min(rows, columns) >= 128 else 2 if min(rows, columns) >= 64 else 1
    kernel = run.own("gemm.cu", "onnx_gemm", EACH=per_thread, **types, **activation_macro(end.activation))
    bias = None if end.bias is None else end.bias.expanded((rows, columns))
    bias_row, bias_column = (0, 0) if bias is None else bias.strides
    args = [
        a, *steps_a, *a.strides[-2:], b, *steps_b, *b.strides[-2:], bias, bias_row, bias_column, out,
        rows, columns, depth, inner, float(end.alpha), float(end.beta),
    ]  # fmt: skip
    tile = _SIDE * per_thread
    run.launch(kernel, (ceil_div(rows, tile), ceil_div(columns, tile), outer * inner), (_SIDE, _SIDE), args)


def _fits_ladder(a: Tensor, b: Tensor, end: Epilogue) -> bool:
    """Whether the best rung of the ladder of products computes it: float32, C order, large, nothing behind."""
    return (
        end.plain and len(a.shape) == 2 and a.dtype.name == "float32" and a.contiguous and b.contiguous
        and min(a.shape[0], b.shape[1]) >= _LADDER
    )  # fmt: skip
