"""Attention as ONNX's operator and as fused from its parts, in one kernel; rotary positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gridstride.frameworks.onnx.elementwise import broadcast, evaluate
from gridstride.frameworks.onnx.expressions import computed_type
from gridstride.frameworks.onnx.generated_kernel import Operand
from gridstride.frameworks.onnx.launcher import Launcher, ceil_div, element
from gridstride.frameworks.onnx.onnx_errors import OnnxError
from gridstride.frameworks.onnx.operators.gather_ops import chosen_rows
from gridstride.frameworks.onnx.operators.movement_ops import reshaped, resolved
from gridstride.frameworks.onnx.registry import Call, operator
from gridstride.frameworks.onnx.tensors import Tensor, Value

FUSED = "gridstride::Attention"
"""softmax(scale q k + mask) v, as fused: inputs q, k with its last axes exchanged, v, mask."""
GROUPED = "gridstride::GroupedAttention"
"""The same with fewer heads of keys and values: inputs q, k, v, mask, and the shapes by which k and v were repeated.
Here k is as it was before its last axes were exchanged."""
ROTARY = "gridstride::Rotary"
"""Rotary positions, by cos and sin of half a head."""
ROTATED = "gridstride::RotatedHalves"
"""Rotary positions, by cos and sin of a whole head: x cos + Concat(-x[at:], x[:at]) sin."""
_WARPS = 4
_WIDEST = 512


@dataclass(frozen=True, slots=True)
class Masking:
    """What each query sees: a mask that broadcasts to [B, H, Q, K], and of the keys 0 to i + past where causal.

    `lengths`, int64 [B]: how many keys are valid; the last query then stands at the last of them, whatever `past` is.
    `window`: how many keys before and behind its place a query sees, -1 for all.
    """

    mask: Tensor | None = None
    causal: bool = False
    past: int = 0
    empty_rows: str = "0.0f"  # what a query gives that sees nothing
    lengths: Tensor | None = None
    window: tuple[int, int] = (-1, -1)
    softcap: float = 0.0


@operator(FUSED)
def fused(call: Call) -> Value:
    q, k, v = call.tensor(0), call.tensor(1), call.tensor(2)
    rank = len(q.shape)
    mask = call.tensor(3) if call.has(3) else None
    q4, k4, v4 = (_four(call.run, t) for t in (q, k.swapped(rank - 1, rank - 2), v))
    batch = np.broadcast_shapes(q4.shape[:2], k4.shape[:2], v4.shape[:2])
    q4, k4, v4 = (t.expanded([*batch, *t.shape[2:]]) for t in (q4, k4, v4))
    how = Masking(mask, bool(call.get("causal", 0)), 0, call.get("empty_rows", "0.0f"))
    out = attention(call.run, q4, k4, v4, how, call.get("scale", 1.0))
    if rank == 4:
        return out
    return call.run.contiguous(out).reshaped([*q.shape[:-1], v.shape[-1]])


@operator(GROUPED)
def grouped(call: Call) -> Value:
    q, k, v = (call.tensor(i) for i in range(3))
    if len(q.shape) != 4:
        raise OnnxError(f"q has {len(q.shape)} axes, repeated heads have 4")
    mask = call.tensor(3) if call.has(3) else None
    k, v = (_unrepeated(call, t, index) for t, index in ((k, 4), (v, 6)))
    how = Masking(mask, bool(call.get("causal", 0)), 0, call.get("empty_rows", "0.0f"))
    return attention(call.run, q, k, v, how, call.get("scale", 1.0))


def _unrepeated(call: Call, x: Tensor, index: int) -> Tensor:
    """x [B, G, T, D] as it is, where the shapes of Expand and Reshape say that each head is repeated; else repeated."""
    wide, merged = call.integers(index) or [], call.integers(index + 1) or []
    b, groups, length, width = x.shape
    expanded = list(np.broadcast_shapes((b, groups, 1, length, width), tuple(wide)))
    repeats = len(expanded) == 5 and expanded[:2] + expanded[3:] == [b, groups, length, width]
    if repeats and merged in ([b, groups * expanded[2], length, width], [b, -1, length, width]):
        return x
    copied = x.with_axis(2).expanded(expanded)
    return reshaped(call, copied, resolved(merged, copied))


def _four(run: Launcher, tensor: Tensor) -> Tensor:
    """As [B, H, rows, elements]."""
    if len(tensor.shape) > 4:
        dense = run.contiguous(tensor)
        return dense.reshaped((-(-dense.size // (np.prod(dense.shape[-3:], dtype=int) or 1)), *dense.shape[-3:]))
    while len(tensor.shape) < 4:
        tensor = tensor.with_axis(0)
    return tensor


@operator("Attention")
def attention_operator(call: Call) -> Sequence[Value]:
    """Of opset 23 to 25: 4-D [B, H, T, D] or 3-D [B, T, H D]; past and present keys and values; no output of scores."""
    run = call.run
    if len(call.node.outputs) > 3 and call.node.outputs[3]:
        raise OnnxError("the output of scores is not supported")
    q, k, v = call.tensor(0), call.tensor(1), call.tensor(2)
    packed = len(q.shape) == 3
    if packed:
        q = _heads(run, q, call.get("q_num_heads"))
        k, v = (_heads(run, t, call.get("kv_num_heads")) for t in (k, v))
    past = 0
    if call.has(4) and call.has(5):
        past = call.tensor(4).shape[2]
        k, v = _joined(run, call.tensor(4), k), _joined(run, call.tensor(5), v)
    scale = call.get("scale") or q.shape[-1] ** -0.5
    mask = call.tensor(3) if call.has(3) else None
    visible = k.shape[2] if mask is None else min(k.shape[2], mask.shape[-1])  # keys behind a mask's end are not seen
    how = Masking(
        mask, bool(call.get("is_causal", 0)), past, lengths=_lengths(call, q.shape[0]),
        window=(call.get("left_window_size", -1), call.get("right_window_size", -1)),
        softcap=float(call.get("softcap", 0.0)),
    )  # fmt: skip
    out = attention(run, q, k.sliced(2, 0, visible), v.sliced(2, 0, visible), how, scale)
    if packed:
        out = run.contiguous(out.swapped(1, 2)).reshaped([q.shape[0], q.shape[2], q.shape[1] * v.shape[-1]])
    return [out, k, v][: len(call.node.outputs)]


def _lengths(call: Call, batch: int) -> Tensor | None:
    """Input 6 of opset 24: how many keys of each of a batch are valid, int64."""
    lengths = call.optional(6)
    if lengths is not None and (lengths.shape != (batch,) or lengths.dtype != np.int64):
        raise OnnxError(f"nonpad_kv_seqlen is {lengths.dtype} {list(lengths.shape)}, not int64 [{batch}]")
    return lengths


def _heads(run: Launcher, x: Tensor, heads: int) -> Tensor:
    dense = run.contiguous(x)
    return dense.reshaped((x.shape[0], x.shape[1], heads, x.shape[2] // heads)).swapped(1, 2)


def _joined(run: Launcher, past: Tensor, now: Tensor) -> Tensor:
    """Along the axis of tokens."""
    length = past.shape[2]
    out = run.empty([*now.shape[:2], length + now.shape[2], now.shape[3]], now.dtype)
    if past.size:
        run.copy(past, out.sliced(2, 0, length))
    run.copy(now, out.sliced(2, length, now.shape[2]))
    return out


def attention(run: Launcher, q: Tensor, k: Tensor, v: Tensor, how: Masking, scale: float) -> Tensor:
    """q [B, H, Q, D], k [B, G, K, D], v [B, G, K, E] -> [B, H, Q, E], stored as [B, Q, H, E]."""
    kind = element(q, "q")
    (b, h, queries, width), (groups, keys), value_width = q.shape, k.shape[1:3], v.shape[3]
    if h % groups or k.shape[3] != width or max(width, value_width) > _WIDEST:
        raise OnnxError(
            f"q {list(q.shape)} and k {list(k.shape)} do not go together, or heads are wider than {_WIDEST}"
        )
    out = run.empty((b, queries, h, value_width), q.dtype).swapped(1, 2)
    if not out.size:
        return out
    mask, mask_kind = how.mask, 0
    if mask is not None:
        mask_kind = 2 if mask.dtype.name == "bool" else 1
        if mask_kind == 1 and mask.dtype != q.dtype:
            raise OnnxError(f"the mask is {mask.dtype}, not bool or {q.dtype}")
        mask = mask.expanded((b, h, queries, keys))
    kernel = run.own(
        "attention.cu", "onnx_attention", ELEMENT=kind, HEAD_WIDTH=width, VALUE_WIDTH=value_width, MASK=mask_kind,
        CAUSAL=int(how.causal), EMPTY_ROWS=how.empty_rows,
    )  # fmt: skip
    args: list[Any] = [
        q,
        *q.strides,
        k,
        *k.strides,
        v,
        *v.strides,
        mask,
        *(mask.strides if mask is not None else (0,) * 4),
    ]
    args += [
        out,
        *out.strides,
        how.lengths,
        queries,
        keys,
        h // groups,
        how.past,
        *how.window,
        how.softcap,
        float(scale),
    ]
    run.launch(kernel, (ceil_div(queries, _WARPS), h, b), 32 * _WARPS, args)
    return out


@operator(ROTARY)
def fused_rotary(call: Call) -> Value:
    """Pairs (i, i + D/2) of x's last axis, turned by cos and sin that broadcast to half of x."""
    run, x = call.run, call.tensor(0)
    out, half = run.empty(x.shape, x.dtype), x.shape[-1] // 2
    _rotate(run, x, call.tensor(1), call.tensor(2), out, half)
    return out


@operator(ROTATED)
def rotated_halves(call: Call) -> Value:
    """What was one array of turned halves is read from x in two launches, and never written."""
    run, (x, cos, sin), at = call.run, (call.tensor(i) for i in range(3)), call.get("at")
    width = x.shape[-1]
    out, second_width = run.empty(broadcast([x.shape, cos.shape, sin.shape], "rotary"), x.dtype), width - at
    pieces = ((0, second_width, at, "a0 * a1 - a2 * a3"), (second_width, at, 0, "a0 * a1 + a2 * a3"))
    kind = computed_type(x.dtype, "rotary positions")
    for start, count, partner_start, result in pieces:
        parts = [_last(t, start, count) for t in (x, cos)] + [_last(x, partner_start, count), _last(sin, start, count)]
        lines = [f"const {kind} a{n} = ({kind})x{n}[p{n}];" for n in range(4)]
        operands = [Operand(t.dtype, t) for t in parts]
        evaluate(run, "rotary", lines, result, x.dtype, operands, out=_last(out, start, count))
    return out


def _last(x: Tensor, start: int, count: int) -> Tensor:
    """`count` elements along the last axis."""
    return x.sliced(len(x.shape) - 1, start, count)


def _rotate(
    run: Launcher, x: Tensor, cos: Tensor, sin: Tensor, out: Tensor, half: int, *, neighbours: bool = False
) -> None:
    """Pairs (i, i + half), or with `neighbours` (2 i, 2 i + 1)."""
    axis, kind = len(x.shape) - 1, computed_type(x.dtype, "RotaryEmbedding")
    second, step = (1, 2) if neighbours else (half, 1)
    tensors = (x.sliced(axis, 0, half, step), x.sliced(axis, second, half, step), cos, sin)
    lines = [f"const {kind} a{n} = ({kind})x{n}[p{n}];" for n in range(4)]
    for start, result in ((0, "a0 * a2 - a1 * a3"), (second, "a1 * a2 + a0 * a3")):
        operands = [Operand(t.dtype, t) for t in tensors]
        evaluate(run, "rotary", lines, result, x.dtype, operands, out=out.sliced(axis, start, half, step))


@operator("RotaryEmbedding")
def rotary(call: Call) -> Value:
    """Of opset 23: x [B, H, T, D], or [B, T, H D] with num_heads; cos and sin [B, T, R/2], or rows by place."""
    run, x = call.run, call.tensor(0)
    packed = len(x.shape) == 3
    x4 = _heads(run, x, call.get("num_heads")) if packed else x
    width = call.get("rotary_embedding_dim", 0) or x4.shape[3]
    out = run.empty([x4.shape[0], x4.shape[2], x4.shape[1], x4.shape[3]], x.dtype).swapped(1, 2)
    positions = call.optional(3)
    cos, sin = (call.dense(i) if positions is None else chosen_rows(run, call.dense(i), positions) for i in (1, 2))
    neighbours = bool(call.get("interleaved", 0))
    _rotate(run, x4, cos.with_axis(1), sin.with_axis(1), out, width // 2, neighbours=neighbours)
    if width < x4.shape[3]:
        unrotated = x4.shape[3] - width
        run.copy(x4.sliced(3, width, unrotated), out.sliced(3, width, unrotated))
    if not packed:
        return out
    return run.contiguous(out.swapped(1, 2)).reshaped(x.shape)
