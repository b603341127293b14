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


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU in its tanh form, as GPT-2 was trained with."""
    return F.gelu(x, approximate="tanh")


def causal_attention(q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None = None) -> Tensor:
    """Causal self-attention: q [B, T, H, D], k and v [B, T, K, D] with H a multiple of K; gives [B, T, H, D].

    `seen` [B, 1, T, T] says instead which keys each query sees.
    """
    q, k, v = (t.transpose(1, 2) for t in (q, k, v))
    grouped = k.shape[1] != q.shape[1]
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=seen, is_causal=seen is None, enable_gqa=grouped)
    return out.transpose(1, 2)


def _shipped(x: Tensor, weight: Tensor) -> bool:
    """Whether the op from `kernels/` is right here: on a GPU, one dtype that it has, and no gradient to keep."""
    if not x.is_cuda or x.dtype != weight.dtype or x.dtype not in (torch.float16, torch.bfloat16, torch.float32):
        return False
    plain = type(x) is Tensor and type(weight) in (Tensor, torch.nn.Parameter)  # no shards of a distributed tensor
    return plain and not (torch.is_grad_enabled() and (x.requires_grad or weight.requires_grad))
