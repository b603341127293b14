"""Norms over the last axes by the ladders' kernels, over channels by one of our own."""

from __future__ import annotations

from math import prod

from gridstride.frameworks.onnx.elementwise import broadcast, evaluate
from gridstride.frameworks.onnx.expressions import computed_type, number
from gridstride.frameworks.onnx.generated_kernel import Operand
from gridstride.frameworks.onnx.launcher import ceil_div, element
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.reduction_ops import lanes_of_rows
from gridstride.frameworks.onnx.registry import Call, axis_of, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value

_ROW_THREADS = 128


@operator("LayerNormalization")
def layer_norm(call: Call) -> list[Value]:
    run, x = call.run, call.dense(0)
    rows, columns, kind = _rows(call, x)
    weight, bias, out = _spread_over(call, x, 1), None, run.empty(x.shape, x.dtype)
    if call.has(2):
        bias = _spread_over(call, x, 2)
    mean, rstd = run.empty((rows,), "float32"), run.empty((rows,), "float32")
    if out.size:
        lanes, vectors_kept = lanes_of_rows(columns * x.dtype.itemsize, most=2)
        kernel = run.rung("layer_norm", "03_registers", ELEMENT=kind, LANES=lanes, KEPT=vectors_kept)
        threads = max(lanes, 128)
        args = [x, weight, bias, out, mean, rstd, rows, columns, float(call.get("epsilon", 1e-5))]
        run.launch(kernel, ceil_div(rows, threads // lanes), threads, args)
    axis = axis_of(call.get("axis", -1), len(x.shape))
    shape = [*x.shape[:axis], *[1] * (len(x.shape) - axis)]
    return [out, mean.reshaped(shape), rstd.reshaped(shape)]


@operator("RMSNormalization", "SimplifiedLayerNormalization")
def rms_norm(call: Call) -> Value:
    run, x = call.run, call.dense(0)
    rows, columns, kind = _rows(call, x)
    weight, out = _spread_over(call, x, 1), run.empty(x.shape, x.dtype)
    if out.size:
        vectors = ceil_div(columns * x.dtype.itemsize, 16)
        threads = min(max(32 * ceil_div(vectors, 32), 32), 1024)
        vectors_kept = min(ceil_div(vectors, threads), 4)
        kernel = run.rung("rms_norm", "03_registers", ELEMENT=kind, THREADS=threads, KEPT=vectors_kept, ADDS=0)
        args = [x, None, weight, out, rows, columns, float(call.get("epsilon", 1e-5))]
        run.launch(kernel, rows, threads, args)
    return out


def _rows(call: Call, x: Tensor) -> tuple[int, int, str]:
    """Rows, their width, and the element type."""
    axis = axis_of(call.get("axis", -1), len(x.shape))
    columns = prod(x.shape[axis:])
    return x.size // columns if columns else 0, columns, element(x, call.node.op)


def _spread_over(call: Call, x: Tensor, index: int) -> Tensor:
    """A scale or bias of all elements of a row, into whose shape it may have to be broadcast."""
    shape, tensor = x.shape[axis_of(call.get("axis", -1), len(x.shape)) :], call.tensor(index)
    if tensor.dtype != x.dtype or broadcast([tensor.shape, shape], "a scale or bias") != tuple(shape):
        raise OnnxError(
            f"input {index} is {tensor.dtype} {list(tensor.shape)}, not {x.dtype} of the rows' {list(shape)}"
        )
    return call.dense(index) if tensor.size == prod(shape) else call.run.contiguous(tensor.expanded(shape))


@operator("GroupNormalization", "InstanceNormalization")
def group_norm(call: Call) -> Value:
    run, x = call.run, call.dense(0)
    kind, channels = element(x, call.node.op), x.shape[1]
    groups = channels if call.node.op == "InstanceNormalization" else call.get("num_groups")
    scale, bias, out = call.dense(1), call.dense(2), run.empty(x.shape, x.dtype)
    if groups < 1 or channels % groups:
        raise OnnxError(f"num_groups is {groups}: {channels} channels are not so many groups")
    if scale.size != channels:  # before opset 21 one for each group
        scale, bias = (_spread(call, t, channels) for t in (scale, bias))
    if out.size:
        args = [x, scale, bias, out, groups, channels // groups, prod(x.shape[2:]), float(call.get("epsilon", 1e-5))]
        run.launch(run.own("rows.cu", "onnx_group_norm", ELEMENT=kind), x.shape[0] * groups, _ROW_THREADS, args)
    return out


def _spread(call: Call, of_groups: Tensor, channels: int) -> Tensor:
    group_size = channels // of_groups.size
    wide = of_groups.reshaped((of_groups.size, 1)).expanded((of_groups.size, group_size))
    return call.run.contiguous(wide).reshaped((channels,))


@operator("BatchNormalization")
def batch_norm(call: Call) -> Value:
    """As in inference: mean and variance are inputs."""
    if call.get("training_mode", 0):
        raise OnnxError("training_mode is 1: export the model in eval mode")
    x = call.tensor(0)
    trailing = (1,) * (len(x.shape) - 2)
    scale, bias, mean, variance = (call.dense(i).reshaped((x.shape[1], *trailing)) for i in range(1, 5))
    kind = computed_type(x.dtype, "BatchNormalization")
    epsilon = number(float(call.get("epsilon", 1e-5)))
    lines = [f"const {kind} a{n} = ({kind})x{n}[p{n}];" for n in range(5)]
    lines.append(f"const {kind} v = (a0 - a3) / sqrt(a4 + {epsilon}) * a1 + a2;")
    operands = [Operand(t.dtype, t) for t in (x, scale, bias, mean, variance)]
    return evaluate(call.run, "batch_norm", lines, "v", x.dtype, operands)
