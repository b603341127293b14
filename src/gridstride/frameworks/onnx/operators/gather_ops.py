"""Elements chosen by indices: embeddings, tables of positions."""

from __future__ import annotations

from math import prod

import numpy as np

from gridstride.frameworks.onnx.elementwise import evaluate
from gridstride.frameworks.onnx.expressions import c_type
from gridstride.frameworks.onnx.generated_kernel import Operand
from gridstride.frameworks.onnx.graph import Array
from gridstride.frameworks.onnx.launcher import Launcher, ceil_div
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.registry import Call, axis_of, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value
from gridstride.virtual.findings.finding import KernelFault

THREADS = 256
_MOST_DEPTH = 4


def _start(run: Launcher, entry: str, x: Tensor, indices: Tensor, out: Tensor, *sizes: int) -> Tensor:
    if out.size:
        element, index = (c_type(t.dtype, entry) for t in (x, indices))
        kernel = run.own("indexing.cu", entry, ELEMENT=element, INDEX=index)
        try:
            run.launch(kernel, ceil_div(out.size, THREADS), THREADS, [x, indices, out, out.size, *sizes])
        except KernelFault as fault:
            if not any(finding.kind == "trap" for finding in fault.findings):
                raise
            raise OnnxError(f"an index is out of range, of elements of shape {list(x.shape)}") from fault
    return out


def chosen_rows(run: Launcher, x: Tensor, indices: Tensor) -> Tensor:
    """Rows of x [rows, width] by places of any shape."""
    out = run.empty([*indices.shape, x.shape[1]], x.dtype)
    return _start(run, "onnx_gather", x, indices, out, x.shape[0], indices.size, x.shape[1])


def chosen_along(run: Launcher, x: Tensor, axis: int, indices: Array) -> Tensor:
    """The elements of x at these places of an axis, int64 [n]."""
    out = run.empty([*x.shape[:axis], len(indices), *x.shape[axis + 1 :]], x.dtype)
    sizes = (x.shape[axis], len(indices), prod(x.shape[axis + 1 :]))
    return _start(run, "onnx_gather", run.contiguous(x), run.on_device(indices), out, *sizes)


@operator("Gather")
def gather(call: Call) -> Value:
    x = call.tensor(0)
    axis = axis_of(call.get("axis", 0), len(x.shape))
    indices = call.value(1)
    if not isinstance(indices, Tensor) and indices.ndim == 0:
        chosen = axis_of(int(indices), x.shape[axis])
        part = x.sliced(axis, chosen, 1)
        return part.view(part.shape[:axis] + part.shape[axis + 1 :], part.strides[:axis] + part.strides[axis + 1 :])
    index_tensor = call.dense(1)
    inner = prod(x.shape[axis + 1 :])
    out = call.run.empty([*x.shape[:axis], *index_tensor.shape, *x.shape[axis + 1 :]], x.dtype)
    return _start(call.run, "onnx_gather", call.dense(0), index_tensor, out, x.shape[axis], index_tensor.size, inner)


@operator("GatherElements")
def gather_elements(call: Call) -> Value:
    x, indices = call.tensor(0), call.dense(1)
    axis = axis_of(call.get("axis", 0), len(x.shape))
    if any(a < b for i, (a, b) in enumerate(zip(x.shape, indices.shape, strict=True)) if i != axis):
        raise OnnxError(f"indices {list(indices.shape)} are more than data {list(x.shape)} off axis {axis}")
    for i, n in enumerate(indices.shape):
        x = x if i == axis else x.sliced(i, 0, n)
    x, out = call.run.contiguous(x), call.run.empty(indices.shape, x.dtype)
    inner = prod(x.shape[axis + 1 :])
    return _start(call.run, "onnx_gather_elements", x, indices, out, x.shape[axis], indices.shape[axis], inner)


@operator("GatherND")
def gather_nd(call: Call) -> Value:
    x, indices = call.dense(0), call.dense(1)
    batches, depth = call.get("batch_dims", 0), indices.shape[-1]
    if depth > _MOST_DEPTH:
        raise OnnxError(f"{depth} indices for an element are more than {_MOST_DEPTH}")
    inner_shape = x.shape[batches + depth :]
    out = call.run.empty([*indices.shape[:-1], *inner_shape], x.dtype)
    sizes = [*x.shape[batches : batches + depth], 1, 1, 1, 1][:_MOST_DEPTH]
    per_batch = prod(indices.shape[batches:-1])
    x_batch = prod(x.shape[batches:]) if batches else 0
    args = (prod(inner_shape), depth, *sizes, max(per_batch, 1), x_batch)
    return _start(call.run, "onnx_gather_nd", x, indices, out, *args)


@operator("OneHot")
def one_hot(call: Call) -> Value:
    """Equality with 0, 1, … along a new axis, as an elementwise kernel."""
    indices, depth = call.tensor(0), (call.integers(1) or [0])[0]
    off, on = call.run.on_host(call.value(2)).reshape(2)
    rank = len(indices.shape) + 1
    axis = axis_of(call.get("axis", -1), rank)
    counted = call.run.on_device(np.arange(depth, dtype=np.int64).reshape([-1] + [1] * (rank - axis - 1)))
    kind = c_type(np.asarray(on).dtype, "OneHot")
    wrapped = f"(x0[p0] < 0 ? x0[p0] + {depth} : x0[p0])"
    lines = [f"const {kind} a0 = {wrapped} == x1[p1] ? ({kind}){on} : ({kind}){off};"]
    operands = [Operand(t.dtype, t) for t in (indices.with_axis(axis), counted)]
    return evaluate(call.run, "one_hot", lines, "a0", np.asarray(on).dtype, operands)
