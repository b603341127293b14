"""gridstride::attention_with_lse, the forward pass that keeps what its gradient needs, and ::attention_backward."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gridstride.kernels.attention.launch import SECOND_DERIVATIVES, bounded, check_shapes, run_rung, why_not_possible
from gridstride.kernels.attention_backward.launch import GradientInputs, rung_of
from gridstride.kernels.attention_backward.launch import run_rung as run_backward
from gridstride.kernels.boundary import add_gradient, refuse_gradient
from gridstride.kernels.torch_op import check, check_alike, properties

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("attention_with_lse(Tensor q, Tensor k, Tensor v, SymInt past, float scale) -> (Tensor, Tensor)")
_LIBRARY.define(
    "attention_backward(Tensor dout, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, SymInt past, float scale) "
    "-> (Tensor, Tensor, Tensor)"
)
_FASTER: frozenset[tuple[str, int]] = frozenset()
"""GPUs, by a word of their names, and widths of heads at which both kernels together take less time than PyTorch's
forward and backward kernels do in bench/ops_h200.py: none. On an H200 cuDNN's take 0.84 to 0.94 of both rungs' time at
128 and 0.76 to 0.81 at 256; at 64 the forward rung has not been timed, and backward cuDNN's take 0.78 to 0.89.
"""


def attention_with_gradient(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> Tensor:
    """`attention`, whose gradient is ours; a second derivative is refused by name."""
    out: Tensor = torch.ops.gridstride.attention_with_lse(q, k, v, past, scale)[0]
    return out


def why_not_faster(q: Tensor, k: Tensor) -> str:
    """Why PyTorch's gradients are taken unless ours are asked for; empty where ours are known to be faster."""
    if reason := why_not_possible(q, k):
        return reason
    name, width = properties(q.device).name, q.shape[-1]
    if any(word in name and width == of for word, of in _FASTER):
        return ""
    no_evidence = f"{rung_of(width)} is not known to be faster than PyTorch's gradient on {name} with heads of {width}"
    return f"{no_evidence}, bench/results/ops_h200.json"


# -- forward -----------------------------------------------------------------------------------------------------------
@torch.library.impl(_LIBRARY, "attention_with_lse", "CUDA")
def _cuda_forward(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> tuple[Tensor, Tensor]:
    check_shapes(q, k, v)
    past = bounded(q, k, past)
    if why_not_possible(q, k):
        return _torchs_forward(q, k, v, past, scale)
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=q.device)
    return run_rung(q, k, v, past, scale, lse), lse


@torch.library.impl(_LIBRARY, "attention_with_lse", "CPU")
def _cpu_forward(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> tuple[Tensor, Tensor]:
    check_shapes(q, k, v)
    return _torchs_forward(q, k, v, bounded(q, k, past), scale)


@torch.library.register_fake("gridstride::attention_with_lse")
def _fake_forward(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> tuple[Tensor, Tensor]:
    check_shapes(q, k, v)
    lse = torch.empty(q.shape[:3], dtype=_wide(q.dtype), device=q.device)
    return torch.empty_like(q, memory_format=torch.contiguous_format), lse


def _wide(dtype: torch.dtype) -> torch.dtype:
    """Of sums and statistics."""
    return torch.float64 if dtype == torch.float64 else torch.float32


def _grouped(x: Tensor, kv_heads: int) -> Tensor:
    """Heads in groups of those that share keys, wide: [B, kv_heads, G, Q, …]."""
    return x.unflatten(1, (kv_heads, -1)).to(_wide(x.dtype))


def _scores(q: Tensor, k: Tensor, past: int, scale: float) -> Tensor:
    """scale q k [B, kv_heads, G, Q, K], -Inf for keys that are not seen."""
    mask = torch.ones(q.shape[2], k.shape[2], dtype=torch.bool, device=q.device).tril(past)
    products = _grouped(q, k.shape[1]) @ k[:, :, None].to(_wide(k.dtype)).mT
    return (products * scale).masked_fill(~mask, -torch.inf)


def _torchs_forward(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> tuple[Tensor, Tensor]:
    """Both by PyTorch's operations, with the scores in memory."""
    scores = _scores(q, k, past, scale)
    lse = scores.logsumexp(-1)
    weights = (scores - lse[..., None]).exp().masked_fill(lse[..., None].isneginf(), 0.0)
    out = weights @ v[:, :, None].to(weights.dtype)
    return out.flatten(1, 2).to(q.dtype).contiguous(), lse.flatten(1, 2).contiguous()


# -- backward ----------------------------------------------------------------------------------------------------------
@torch.library.impl(_LIBRARY, "attention_backward", "CUDA")
def _cuda_backward(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, past: int, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    _check_backward(dout, q, k, v, out, lse)
    past = bounded(q, k, past)
    if why_not_possible(q, k):
        return _torchs_backward(dout, q, k, v, out, lse, past, scale)
    return run_backward(GradientInputs(dout, q, k, v, out, lse), past, scale)


@torch.library.impl(_LIBRARY, "attention_backward", "CPU")
def _cpu_backward(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, past: int, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    _check_backward(dout, q, k, v, out, lse)
    return _torchs_backward(dout, q, k, v, out, lse, bounded(q, k, past), scale)


@torch.library.register_fake("gridstride::attention_backward")
def _fake_backward(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, past: int, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    _check_backward(dout, q, k, v, out, lse)
    dq, dk, dv = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
    return dq, dk, dv


def _check_backward(dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor) -> None:
    check_shapes(q, k, v)
    check_alike(dout, "dout", q, "q")
    check_alike(out, "out", q, "q")
    fits = lse.shape == q.shape[:3] and lse.dtype == _wide(q.dtype) and lse.device == q.device
    check(fits, "lse", lse, lambda: f"{_wide(q.dtype)} {tuple(q.shape[:3])} on {q.device}")


def _delta(dout: Tensor, out: Tensor) -> Tensor:
    """dout · out of each query [B, heads, Q], the mean slope of its weights."""
    wide = _wide(dout.dtype)
    return (dout.to(wide) * out.to(wide)).sum(-1)


def _torchs_backward(
    dout: Tensor, q: Tensor, k: Tensor, v: Tensor, out: Tensor, lse: Tensor, past: int, scale: float
) -> tuple[Tensor, Tensor, Tensor]:
    """The same by PyTorch's operations, with weights and slopes in memory."""
    kv_heads, lse_rows = k.shape[1], lse.unflatten(1, (k.shape[1], -1))[..., None]
    weights = (_scores(q, k, past, scale) - lse_rows).exp().masked_fill(lse_rows.isneginf(), 0.0)
    queries, slopes = _grouped(q, kv_heads), _grouped(dout, kv_heads)
    keys, values = (x[:, :, None].to(weights.dtype) for x in (k, v))
    ds = weights * (slopes @ values.mT - _delta(dout, out).unflatten(1, (kv_heads, -1))[..., None]) * scale
    dq = (ds @ keys).flatten(1, 2)
    dk, dv = (ds.mT @ queries).sum(2), (weights.mT @ slopes).sum(2)
    return dq.to(q.dtype).contiguous(), dk.to(k.dtype).contiguous(), dv.to(v.dtype).contiguous()


# -- autograd ----------------------------------------------------------------------------------------------------------
def _keep(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    q, k, v, ctx.past, ctx.scale = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(True)
    ctx.save_for_backward(q, k, v, *output)


def _gradient(ctx: Any, dout: Tensor, _: Tensor | None) -> tuple[Tensor | None, ...]:
    q, k, v, out, lse = ctx.saved_tensors
    slopes = torch.ops.gridstride.attention_backward(dout, q, k, v, out, lse, ctx.past, ctx.scale)
    return (*slopes, None, None)


add_gradient("gridstride::attention_with_lse", keep=_keep, gradient=_gradient)
refuse_gradient("gridstride::attention_backward", SECOND_DERIVATIVES)
