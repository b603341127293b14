"""gridstride::attention: softmax(scale q k) v of whole sequences, and PyTorch's own where that is faster or needed."""

from __future__ import annotations

from typing import Literal, get_args

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from gridstride.kernels.attention.launch import RUNG, bounded, check_shapes, run_rung, why_not_possible
from gridstride.kernels.attention_backward.op import attention_with_gradient, why_not_faster
from gridstride.kernels.autocast import autocast_products
from gridstride.kernels.boundary import may_want_gradient, need_number, need_tensors, refuse_gradient

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("attention(Tensor q, Tensor k, Tensor v, SymInt past, float scale) -> Tensor")
_FASTEST = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
_CUDNN_TAKES = {128: "0.96 to 1.02", 256: "0.79 to 0.84"}
"""Of the rung's time for sequences of 4096 and 8192 tokens, by elements of a head; of 64 it has not been timed."""
Backward = Literal["auto", "gridstride", "pytorch"]


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    past: int | None = None,
    scale: float | None = None,
    backward: Backward = "auto",
) -> Tensor:
    """softmax(scale q k) v [B, heads, Q, D] of q [B, heads, Q, D], k and v [B, kv_heads, K, D], in fp32 inside.

    Query i sees the keys 0 to i + past: 0 is the causal mask, K - Q that of the last Q tokens, None no mask. A query
    that sees none gives zeros. scale: 1 / sqrt(D) unless given. `backward` says whose gradient: by "auto" PyTorch's,
    and its forward kernel with it, unless ours is known to be faster; `attention_kernel` says which, and why.
    ValueError for shapes that do not fit.
    """
    need_tensors("gridstride::attention", q=q, k=k, v=v)
    for name, number in (("past", past), ("scale", scale)):
        if number is not None:
            need_number("gridstride::attention", name, number, whole=name == "past")
    _check_backward(backward)
    q, k, v = autocast_products(q, k, v)
    check_shapes(q, k, v)
    past = bounded(q, k, past)
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    if may_want_gradient(q, k, v):
        own = not _gradient_fallback_reason(q, k, backward)
        return (attention_with_gradient if own else _torchs)(q, k, v, past, scale)
    out: Tensor = torch.ops.gridstride.attention(q, k, v, past, scale)
    return out


def attention_kernel(q: Tensor, k: Tensor, v: Tensor, *, past: int | None = None, backward: Backward = "auto") -> str:
    """Which kernel `attention` runs: a rung's name, or "PyTorch: " and why. ValueError for shapes that do not fit."""
    need_tensors("gridstride::attention", q=q, k=k, v=v)
    _check_backward(backward)
    check_shapes(q, k, v)
    past = bounded(q, k, past)
    if may_want_gradient(q, k, v):
        reason = _gradient_fallback_reason(q, k, backward) or why_not_possible(q, k)
        reason = reason and f"a gradient is wanted, and {reason}"
    else:
        reason = _fallback_reason(q, k, past)
    return f"PyTorch: {reason}" if reason else RUNG


def _check_backward(backward: Backward) -> None:
    if backward not in get_args(Backward):
        raise ValueError(f"backward is {backward!r}, not one of {', '.join(get_args(Backward))}")


def _gradient_fallback_reason(q: Tensor, k: Tensor, backward: Backward) -> str:
    """Why the gradient is PyTorch's; empty where it is the op's."""
    if backward == "pytorch":
        return "PyTorch's is asked for"
    return "" if backward == "gridstride" else why_not_faster(q, k)


def _fallback_reason(q: Tensor, k: Tensor, past: int) -> str:
    """Why the rung does not run for these, or would be slower; empty where it runs."""
    if reason := why_not_possible(q, k):
        return reason
    if past in (0, k.shape[2]) and torch.backends.cudnn.is_available() and torch.backends.cuda.cudnn_sdp_enabled():
        if not (share := _CUDNN_TAKES.get(width := q.shape[-1])):
            return f"the rung has not been timed against cuDNN's kernel with heads of {width}"
        with_heads = f"with heads of {width} cuDNN's kernel takes {share} of the rung's time on an H200"
        return f"{with_heads}, bench/results/ops_h200.json"
    return ""


@torch.library.impl(_LIBRARY, "attention", "CUDA")
def _cuda(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> Tensor:
    check_shapes(q, k, v)
    past = bounded(q, k, past)
    if _fallback_reason(q, k, past):
        with sdpa_kernel(_FASTEST, set_priority=True):
            return _torchs(q, k, v, past, scale)
    return run_rung(q, k, v, past, scale)


@torch.library.impl(_LIBRARY, "attention", "CPU")
def _cpu(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> Tensor:
    check_shapes(q, k, v)
    return _torchs(q, k, v, bounded(q, k, past), scale)


@torch.library.register_fake("gridstride::attention")
def _fake(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> Tensor:
    check_shapes(q, k, v)
    return torch.empty_like(q, memory_format=torch.contiguous_format)


def _torchs(q: Tensor, k: Tensor, v: Tensor, past: int, scale: float) -> Tensor:
    """The same by PyTorch's scaled dot product attention."""
    queries, keys = q.shape[2], k.shape[2]
    if not keys:
        return (q * 0).contiguous()
    if scale <= 0:  # theirs takes its square root
        q, scale = (-q, -scale) if scale else (q * 0, 1.0)
    grouped = q.shape[1] != k.shape[1]
    if past in (0, keys):
        causal = True if past == 0 else False  # noqa: SIM210 (of open sizes the comparison alone is no bool)
        out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale, enable_gqa=grouped)
        return out.contiguous()
    mask = torch.ones(queries, keys, dtype=torch.bool, device=q.device).tril(past)
    nothing = ~mask.any(-1, keepdim=True)  # zeros, with a first key in its place meanwhile: no row is NaN
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask | nothing, scale=scale, enable_gqa=grouped)
    return out.masked_fill(nothing, 0.0).contiguous()


refuse_gradient("gridstride::attention", "use gridstride.ops.attention on tensors that require one")
