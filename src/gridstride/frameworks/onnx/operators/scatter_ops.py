"""Elements put to places that indices name, and the first of each row in order."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.expressions import c_type, computed_type
from gridstride.frameworks.onnx.launcher import ceil_div
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.registry import Call, axis_of, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value, contiguous_strides
from gridstride.virtual.findings.finding import KernelFault

THREADS = 256
_MOST_AXES = 6
_JOINS = {
    "add": "(a) + (b)", "mul": "(a) * (b)",
    "max": "((a) != (a) || (a) > (b) ? (a) : (b))", "min": "((a) != (a) || (a) < (b) ? (a) : (b))",
}  # fmt: skip
_WORDS = {4: "unsigned", 8: "unsigned long long"}
"""What atomicCAS takes, by bytes."""


@operator("ScatterElements", "Scatter")
def scatter_elements(call: Call) -> Value:
    x, indices, updates = call.tensor(0), call.dense(1), call.dense(2)
    rank = len(x.shape)
    axis = axis_of(call.get("axis", 0), rank)
    if rank > _MOST_AXES:
        raise OnnxError(f"{rank} axes are more than {_MOST_AXES}")
    if indices.shape != updates.shape or len(indices.shape) != rank:
        raise OnnxError(f"indices {list(indices.shape)}, updates {list(updates.shape)} and data {list(x.shape)} differ")
    if any(a < b for i, (a, b) in enumerate(zip(x.shape, indices.shape, strict=True)) if i != axis):
        raise OnnxError(f"indices {list(indices.shape)} are more than data {list(x.shape)} off axis {axis}")
    padding_axes = _MOST_AXES - rank
    sizes = [1] * padding_axes + list(updates.shape)
    args = (axis + padding_axes, x.shape[axis], *sizes[1:], *[0] * padding_axes, *contiguous_strides(x.shape))
    return _scattered(call, x, indices, updates, "onnx_scatter_elements", args)


@operator("ScatterND")
def scatter_nd(call: Call) -> Value:
    x, indices, updates = call.tensor(0), call.dense(1), call.dense(2)
    depth = indices.shape[-1] if indices.shape else 0
    if not 0 < depth <= min(len(x.shape), _MOST_AXES):
        raise OnnxError(f"indices {list(indices.shape)} name {depth} axes of data {list(x.shape)}: 1 to {_MOST_AXES}")
    expected = [*indices.shape[:-1], *x.shape[depth:]]
    if list(updates.shape) != expected:
        raise OnnxError(f"updates are {list(updates.shape)}: data and indices ask for {expected}")
    args = (prod(x.shape[depth:]), depth, *[*x.shape[:depth], *[1] * _MOST_AXES][:_MOST_AXES])
    return _scattered(call, x, indices, updates, "onnx_scatter_nd", args)


def _scattered(
    call: Call, x: Tensor, indices: Tensor, updates: Tensor, entry: str, args: tuple[int, ...]
) -> Tensor:  # fmt: skip
    """x with the updates in it, in memory of its own."""
    if x.dtype != updates.dtype:
        raise OnnxError(f"data are {x.dtype} and updates {updates.dtype}: both must be of one type")
    out = call.run.copy(x)
    if not updates.size:
        return out
    macros: dict[str, Any] = {"ELEMENT": c_type(x.dtype, "data"), "INDEX": c_type(indices.dtype, "indices")}
    if (how := call.get("reduction", "none")) != "none":
        if how not in _JOINS or x.dtype.itemsize not in _WORDS:
            raise OnnxError(f"reduction {how!r} of {x.dtype}: add, mul, max and min of 4 and 8 bytes are there")
        macros |= {"REDUCES": 1, "JOIN(a,b)": _JOINS[how], "WORD": _WORDS[x.dtype.itemsize]}
    kernel = call.run.own("scatter.cu", entry, **macros)
    arguments = [out, indices, updates, updates.size, *args]
    try:
        call.run.launch(kernel, ceil_div(updates.size, THREADS), THREADS, arguments)
    except KernelFault as fault:
        if not any(finding.kind == "trap" for finding in fault.findings):
            raise
        raise OnnxError(f"an index is out of range, of data of shape {list(x.shape)}") from fault
    return out


@operator("TopK")
def top_k(call: Call) -> list[Value]:
    x = call.tensor(0)
    rank = len(x.shape)
    axis = axis_of(call.get("axis", -1), rank)
    k = call.get("k") if "k" in call.node.attributes else (call.integers(1) or [0])[0]
    if not 0 <= k <= x.shape[axis]:
        raise OnnxError(f"k is {k}, and axis {axis} has {x.shape[axis]} elements")
    rows = call.run.contiguous(x.swapped(axis, rank - 1))
    n, shape = rows.shape[-1], [*rows.shape[:-1], k]
    values, indices = call.run.empty(shape, x.dtype), call.run.empty(shape, np.dtype(np.int64))
    if values.size:
        macros = {
            "ELEMENT": c_type(x.dtype, "x"), "WORK": computed_type(x.dtype, "x"),
            "SMALLEST": int(not call.get("largest", 1)),
        }  # fmt: skip
        kernel = call.run.own("topk.cu", "onnx_topk", **macros)
        call.run.launch(kernel, ceil_div(rows.size, THREADS), THREADS, [rows, values, indices, rows.size, n, k])
    return [values.swapped(axis, rank - 1), indices.swapped(axis, rank - 1)]
