"""The seam between models and kernels: every op a model uses, by name.

Each function is PyTorch's own for CPU tensors. For tensors on a GPU it may call the op that `kernels/` ships; models
and engines never choose. The ops called here have no backward pass: where gradients are wanted, and for dtypes they
do not have, PyTorch's own run there too.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor


def rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / rms(x) * weight over the last axis; the mean of squares in fp32."""
    if _shipped(x, weight):
        from gridstride.kernels.rms_norm.op import rms_norm as shipped

        return shipped(x.contiguous(), weight, eps)
    return F.rms_norm(x, (x.shape[-1],), weight, eps)


def offset_rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """x / rms(x) * (1 + weight) over the last axis, all of it in fp32: 1 + weight loses digits in 16 bits."""
    return F.rms_norm(x.float(), (x.shape[-1],), 1.0 + weight.float(), eps).to(x.dtype)


def layer_norm(x: Tensor, weight: Tensor, bias: Tensor | None, eps: float) -> Tensor:
    """(x - mean) / deviation * weight + bias over the last axis."""
    return F.layer_norm(x, (x.shape[-1],), weight, bias, eps)


def rotary(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate pairs (i, i + D/2) of each head: x [..., heads, D], cos and sin [..., D/2] of its positions."""
    low, high = x.float().chunk(2, dim=-1)
    cos, sin = cos.unsqueeze(-2), sin.unsqueeze(-2)
    return torch.cat((low * cos - high * sin, high * cos + low * sin), dim=-1).to(x.dtype)


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) * up, the gated feed-forward layer's middle."""
    return F.silu(gate) * up


def gelu_tanh_mul(gate: Tensor, up: Tensor) -> Tensor:
    """gelu(gate) * up with the tanh form, as Gemma has it."""
    return F.gelu(gate, approximate="tanh") * up


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU in its tanh form, as GPT-2 was trained with."""
    return F.gelu(x, approximate="tanh")


def grouped_linear(rows: Tensor, weights: Tensor, counts: Tensor) -> Tensor:
    """rows [R, in] that stand group by group, `counts` [G] of each, times their group's weights [G, out, in]: [R, out].

    One grouped product where PyTorch has a kernel for it, else one product for each group that has rows.
    """
    if _grouped(rows, weights):
        ends = counts.cumsum(0, dtype=torch.int32)
        return F.grouped_mm(rows, weights.transpose(1, 2), offs=ends)
    parts = rows.split(counts.tolist())  # reads the counts back from the device
    return torch.cat([F.linear(part, weight) for part, weight in zip(parts, weights, strict=True) if len(part)])


def causal_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, *, window: int | None = None, cap: float | None = None
) -> Tensor:
    """Causal self-attention: q [B, T, H, D], k and v [B, T, K, D] with H a multiple of K; gives [B, T, H, D].

    `mask` [B, 1, T, T] says instead which keys each query sees, `window` to how many of the last ones that is limited.
    `cap`: see `masked_attention`.
    """
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    length = q.shape[2]
    if window is not None and window < length:
        near = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1 - window)
        mask = near.tril() if mask is None else mask & near
    if mask is None and cap is not None:
        mask = torch.ones(length, length, dtype=torch.bool, device=q.device).tril()
    return masked_attention(q, k, v, mask, cap=cap).transpose(1, 2)


def masked_attention(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, cap: float | None = None) -> Tensor:
    """q [B, H, T, D], k and v [B, K, L, D] -> [B, H, T, D]; `mask` broadcasts to [B, H, T, L], None: causal.

    `cap` c makes c tanh(score / c) of scores; PyTorch's fused attention has no such step.
    """
    if cap is None:
        grouped = k.shape[1] != q.shape[1]
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None, enable_gqa=grouped)
    assert mask is not None
    group = q.shape[1] // k.shape[1]
    rows = q.unflatten(1, (-1, group)).flatten(2, 3)  # heads that share keys stand where tokens would: no key is copied
    scores = cap * torch.tanh(rows @ k.transpose(-1, -2) * (q.shape[-1] ** -0.5 / cap))
    apart = scores.float().unflatten(2, (group, -1)).masked_fill(~mask.unsqueeze(-3), -torch.inf)
    out = apart.softmax(dim=-1).to(v.dtype).flatten(2, 3) @ v
    return out.unflatten(2, (group, -1)).flatten(1, 2)


def _grouped(rows: Tensor, weights: Tensor) -> bool:
    """Whether PyTorch's grouped product has a kernel for these: bf16 on a GPU, rows of whole 16 bytes."""
    aligned = rows.shape[-1] % 8 == 0 and weights.shape[1] % 8 == 0
    return rows.is_cuda and rows.dtype == weights.dtype == torch.bfloat16 and aligned and hasattr(F, "grouped_mm")


def _shipped(x: Tensor, weight: Tensor) -> bool:
    """Whether the op from `kernels/` is right here: on a GPU, one dtype that it has, and no gradient to keep."""
    if not x.is_cuda or x.dtype != weight.dtype or x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        return False
    plain = type(x) is Tensor and type(weight) in (Tensor, torch.nn.Parameter)  # no shards of a distributed tensor
    return plain and not (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad))
