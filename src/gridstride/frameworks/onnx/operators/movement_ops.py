"""Operators that move elements or only say differently where they are: most of them cost no launch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from gridstride.frameworks.onnx.elementwise import evaluate, fill, run_node
from gridstride.frameworks.onnx.expressions import C_TYPES
from gridstride.frameworks.onnx.generated_kernel import Operand
from gridstride.frameworks.onnx.graph import Array, Node
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.gather_ops import chosen_along
from gridstride.frameworks.onnx.packages import onnx_package
from gridstride.frameworks.onnx.registry import Call, axis_of, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value

SWAPPED = "gridstride::SwapLastAxes"
"""Reshape, Transpose, Reshape, by which PyTorch's exporter exchanges the last two axes of keys."""


def _requested_shape(call: Call) -> list[int]:
    """The shape that a Reshape asks for: 0 copies a size (unless allowzero), -1 is what is left."""
    x, requested = call.tensor(0), call.integers(1) or []
    shape = [x.shape[i] if n == 0 and not call.get("allowzero", 0) else n for i, n in enumerate(requested)]
    shape = resolved(shape, x)
    if prod(shape) != x.size:
        raise OnnxError(f"{x.size} elements of shape {list(x.shape)} do not fit {requested}")
    return shape


@operator("Reshape")
def reshape(call: Call) -> Value:
    return reshaped(call, call.tensor(0), _requested_shape(call))


def reshaped(call: Call, x: Tensor, shape: Sequence[int]) -> Tensor:
    """A view where there is one, else of a copy."""
    return x.viewed(shape) or call.run.contiguous(x).reshaped(shape)


@operator(SWAPPED)
def swapped(call: Call) -> Value:
    """[…, T, D] to [-1, T, D], the last two exchanged, to […, D, T]: a view, where the shapes say just that."""
    x, inner, outer = call.tensor(0), call.integers(1) or [], call.integers(2) or []
    if inner[1:] == list(x.shape[-2:]) and outer == [*x.shape[:-2], x.shape[-1], x.shape[-2]]:
        return x.swapped(len(x.shape) - 1, len(x.shape) - 2)
    first = reshaped(call, x, resolved(inner, x))
    return reshaped(call, first.swapped(1, 2), resolved(outer, x))


def resolved(shape: Sequence[int], x: Tensor) -> list[int]:
    """With a number for -1."""
    known_size = prod(n for n in shape if n != -1)
    return [x.size // known_size if n == -1 and known_size else n for n in shape]


@operator("Flatten")
def flatten(call: Call) -> Value:
    x = call.dense(0)
    axis = call.get("axis", 1)
    axis = axis + len(x.shape) if axis < 0 else axis
    return x.reshaped((prod(x.shape[:axis]), prod(x.shape[axis:])))


@operator("Squeeze")
def squeeze(call: Call) -> Value:
    x = call.tensor(0)
    axes = call.axes(len(x.shape))
    axes = [i for i, n in enumerate(x.shape) if n == 1] if axes is None else axes
    axes_kept = [i for i in range(len(x.shape)) if i not in axes]
    return x.view([x.shape[i] for i in axes_kept], [x.strides[i] for i in axes_kept])


@operator("Unsqueeze")
def unsqueeze(call: Call) -> Value:
    x = call.tensor(0)
    axes = call.get("axes") if "axes" in call.node.attributes else call.integers(1) or []
    for axis in sorted(axis_of(axis, len(x.shape) + len(axes)) for axis in axes):
        x = x.with_axis(axis)
    return x


@operator("Transpose")
def transpose(call: Call) -> Value:
    x = call.tensor(0)
    order = call.get("perm") or list(range(len(x.shape)))[::-1]
    if sorted(order) != list(range(len(x.shape))):
        raise OnnxError(f"perm {order} is no order of {len(x.shape)} axes")
    return x.permuted(order)


@operator("Expand")
def expand(call: Call) -> Value:
    x, target = call.tensor(0), call.integers(1) or []
    try:
        shape = np.broadcast_shapes(x.shape, tuple(target))
    except ValueError:
        raise OnnxError(f"shape {list(x.shape)} does not broadcast to {target}") from None
    return x.expanded([int(n) for n in shape])


@operator("Slice")
def slice_(call: Call) -> Value:
    x = call.tensor(0)
    rank = len(x.shape)
    if "starts" in call.node.attributes:  # before opset 10
        starts, ends, axes, steps = call.get("starts"), call.get("ends"), call.get("axes"), None
    else:
        starts, ends, axes, steps = (call.integers(i) for i in range(1, 5))
    for index, (start, end) in enumerate(zip(starts or [], ends or [], strict=True)):
        axis = axis_of(axes[index], rank) if axes else index
        step = steps[index] if steps else 1
        if not step:
            raise OnnxError(f"step {step} of axis {axis}: a slice goes on by 1 or more, or back")
        chosen = range(*slice(start, _end(end, step), step).indices(x.shape[axis]))
        x = x.sliced(axis, chosen.start, len(chosen), step)
    return x


def _end(end: int, step: int) -> int | None:
    """ONNX writes "to the front" as a number far below 0, which Python counts from the end."""
    return None if step < 0 and end < -(1 << 31) + 1 else end


@operator("Split")
def split(call: Call) -> list[Value]:
    x = call.tensor(0)
    axis = axis_of(call.get("axis", 0), len(x.shape))
    sizes = call.get("split") or call.integers(1)
    if sizes is None:
        parts = call.get("num_outputs", len(call.node.outputs))
        part_size = -(-x.shape[axis] // parts)
        sizes = [min(part_size, x.shape[axis] - part_size * i) for i in range(parts)]
    if min(sizes, default=0) < 0 or sum(sizes) != x.shape[axis] or len(sizes) != len(call.node.outputs):
        raise OnnxError(
            f"{x.shape[axis]} elements of axis {axis} are not {sizes}, for {len(call.node.outputs)} outputs"
        )
    starts = np.cumsum([0, *sizes]).tolist()
    return [x.sliced(axis, start, size) for start, size in zip(starts, sizes, strict=False)]


@operator("Concat")
def concat(call: Call) -> Value:
    parts = [call.tensor(i) for i in range(len(call.values))]
    rank = len(parts[0].shape)
    axis = axis_of(call.get("axis", 0), rank)
    shape = list(parts[0].shape)
    shape[axis] = sum(part.shape[axis] for part in parts)
    for part in parts:
        if len(part.shape) != rank or any(part.shape[i] != shape[i] for i in range(rank) if i != axis):
            raise OnnxError(f"shapes {[list(part.shape) for part in parts]} differ off axis {axis}")
    out, at = call.run.empty(shape, parts[0].dtype), 0
    for part in parts:
        if part.size:
            call.run.copy(part, out.sliced(axis, at, part.shape[axis]))
        at += part.shape[axis]
    return out


_PADDED_BY: dict[str, Callable[[Array, int], Array]] = {
    "edge": lambda index, n: np.clip(index, 0, n - 1),
    "reflect": lambda index, n: (n - 1) - abs((n - 1) - index % max(2 * (n - 1), 1)),
    "wrap": lambda index, n: index % n,
}
"""By mode: the places in x of places in the result, which count from the first element of x."""


def _padded(call: Call, x: Tensor, axis: int, pads: tuple[int, int], mode: str) -> Tensor:
    """One axis of x padded by its own elements, or cut where a pad is below 0."""
    (before, after), n = pads, x.shape[axis]
    if before <= 0 and after <= 0:
        return x.sliced(axis, -before, n + before + after)
    if not n:
        raise OnnxError(f"axis {axis} has no elements to pad it with")
    return chosen_along(call.run, x, axis, _PADDED_BY[mode](np.arange(-before, n + after), n))


@operator("Pad")
def pad(call: Call) -> Value:
    x = call.tensor(0)
    mode, rank = call.get("mode", "constant"), len(x.shape)
    if mode != "constant" and mode not in _PADDED_BY:
        raise OnnxError(f"mode {mode!r} is none of constant, {', '.join(_PADDED_BY)}")
    pads = call.get("pads") or call.integers(1) or []
    axes = call.axes(rank, 3) or list(range(rank))
    value = call.run.on_host(call.value(2)) if call.has(2) else np.asarray(call.get("value", 0.0), x.dtype)
    before, after = [0] * rank, [0] * rank
    for index, axis in enumerate(axes):
        before[axis], after[axis] = pads[index], pads[index + len(axes)]
    if mode != "constant":
        for axis in range(rank):
            x = _padded(call, x, axis, (before[axis], after[axis]), mode)
        return x
    out = call.run.empty([a + n + b for a, n, b in zip(before, x.shape, after, strict=True)], x.dtype)
    fill(call.run, value.astype(x.dtype), out)
    inner = out
    for axis in range(rank):
        x = x.sliced(axis, max(-before[axis], 0), x.shape[axis] + min(before[axis], 0) + min(after[axis], 0))
        inner = inner.sliced(axis, max(before[axis], 0), x.shape[axis])
    if x.size:
        call.run.copy(x, inner)
    return out


@operator("DepthToSpace", "SpaceToDepth")
def blocks(call: Call) -> Value:
    """[N, C b b, H, W] to [N, C, H b, W b], by mode DCR or CRD, and back: transposes."""
    x, b, run = call.tensor(0), call.get("blocksize"), call.run
    if len(x.shape) != 4 or b < 1:
        raise OnnxError(f"x has {len(x.shape)} axes and blocksize is {b}: 4 and 1 or above")
    n, c, h, w = x.shape
    if call.node.op == "SpaceToDepth":
        split = run.contiguous(x).reshaped((n, c, h // b, b, w // b, b))
        return run.contiguous(split.permuted([0, 3, 5, 1, 2, 4])).reshaped((n, c * b * b, h // b, w // b))
    deep = call.get("mode", "DCR") == "DCR"
    split = run.contiguous(x).reshaped((n, b, b, c // (b * b), h, w) if deep else (n, c // (b * b), b, b, h, w))
    order = [0, 3, 4, 1, 5, 2] if deep else [0, 1, 4, 2, 5, 3]
    return run.contiguous(split.permuted(order)).reshaped((n, c // (b * b), h * b, w * b))


@operator("Tile")
def tile(call: Call) -> Value:
    x, repeats = call.tensor(0), call.integers(1) or []
    wide: Tensor = x
    for axis in reversed(range(len(x.shape))):
        wide = wide.with_axis(axis)
    sizes = [n for pair in zip(repeats, x.shape, strict=True) for n in pair]
    dense = call.run.contiguous(wide.expanded(sizes))
    return dense.reshaped([n * m for n, m in zip(x.shape, repeats, strict=True)])


@operator("ConstantOfShape")
def constant_of_shape(call: Call) -> Value:
    value = np.asarray(call.get("value", np.zeros(1, np.float32)))
    scalar = call.run.on_device(value.reshape(()))
    return scalar.expanded(call.integers(0) or [])


@operator("Trilu")
def trilu(call: Call) -> Value:
    """The triangle above or below a diagonal; zeros elsewhere."""
    x = call.tensor(0)
    shift = (call.integers(1) or [0])[0]
    rows = call.run.on_device(np.arange(x.shape[-2], dtype=np.int32)[:, None])
    columns = call.run.on_device(np.arange(x.shape[-1], dtype=np.int32))
    condition = "x2[p2] - x1[p1] >= " if call.get("upper", 1) else "x2[p2] - x1[p1] <= "
    lines = [f"const {C_TYPES[x.dtype.name]} a0 = {condition}{shift} ? x0[p0] : ({C_TYPES[x.dtype.name]})0;"]
    operands = [Operand(t.dtype, t) for t in (x, rows, columns)]
    return evaluate(call.run, "trilu", lines, "a0", x.dtype, operands)


@operator("CastLike")
def cast_like(call: Call) -> Value:
    """To the element type of another value, whose shape does not matter."""
    to = onnx_package().helper.np_dtype_to_tensor_dtype(call.value(1).dtype)
    node = Node("Cast", call.node.inputs[:1], call.node.outputs, {"to": to}, "", call.node.name)
    return run_node(call.run, node, [call.tensor(0)], {})
