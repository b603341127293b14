"""gridstride::rms_norm and gridstride::add_rms_norm: the norm alone, and behind the addition to the residual stream."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.torch_op import ceil_div, check, element, launcher

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("rms_norm(Tensor x, Tensor weight, float eps, bool fixed_weights=False) -> Tensor")
_LIBRARY.define(
    "add_rms_norm(Tensor(a!) residual, Tensor delta, Tensor weight, float eps, bool fixed_weights=False) -> Tensor"
)
_THREADS = 128
_MOST_KEPT = 4  # vectors of 16 bytes that a thread holds in registers


def rms_norm(x: Tensor, weight: Tensor, eps: float, *, fixed_weights: bool = False) -> Tensor:
    """x / rms(x) * weight over the last axis of x [..., W], in fp32; contiguous tensors of one dtype.

    `fixed_weights`: the weight is read before the kernels in front of this one have ended, so nothing on the GPU may
    still be writing it.
    """
    out: Tensor = torch.ops.gridstride.rms_norm(x, weight, eps, fixed_weights)
    return out


def add_rms_norm(residual: Tensor, delta: Tensor, weight: Tensor, eps: float, *, fixed_weights: bool = False) -> Tensor:
    """residual += delta, in place, and rms_norm of the sum; the norm sees it before it is rounded."""
    out: Tensor = torch.ops.gridstride.add_rms_norm(residual, delta, weight, eps, fixed_weights)
    return out


def _launch(x: Tensor, delta: Tensor | None, weight: Tensor, eps: float, fixed_weights: bool) -> Tensor:
    check(x.is_contiguous(), "x", x, "contiguous")
    check(weight.shape == x.shape[-1:] and weight.dtype == x.dtype, "weight", weight, f"{x.dtype} [{x.shape[-1]}]")
    if delta is not None:
        wanted = f"contiguous {x.dtype} {tuple(x.shape)}"
        check(delta.shape == x.shape and delta.dtype == x.dtype and delta.is_contiguous(), "delta", delta, wanted)
    out = torch.empty_like(x)
    width = x.shape[-1]
    rows = x.numel() // width if width else 0
    if rows:
        weight, fixed = weight.contiguous(), fixed_weights and weight.is_contiguous()  # a copy is written in front
        kept = min(ceil_div(width * x.element_size(), 16 * _THREADS), _MOST_KEPT)
        run = launcher("rms_norm", "03_registers", x.device, ELEMENT=element(x), KEPT=kept, FIXED_WEIGHTS=int(fixed))
        run((rows, 1, 1), _THREADS, x, delta, weight, out, rows, width, eps)
    return out


@torch.library.impl(_LIBRARY, "rms_norm", "CUDA")
def _rms_norm_cuda(x: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False) -> Tensor:
    return _launch(x, None, weight, eps, fixed_weights)


@torch.library.impl(_LIBRARY, "add_rms_norm", "CUDA")
def _add_rms_norm_cuda(
    residual: Tensor, delta: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False
) -> Tensor:
    return _launch(residual, delta, weight, eps, fixed_weights)


@torch.library.impl(_LIBRARY, "rms_norm", "CPU")
def _rms_norm_cpu(x: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False) -> Tensor:
    return F.rms_norm(x, (x.shape[-1],), weight, eps)


@torch.library.impl(_LIBRARY, "add_rms_norm", "CPU")
def _add_rms_norm_cpu(
    residual: Tensor, delta: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False
) -> Tensor:
    residual += delta
    return F.rms_norm(residual, (residual.shape[-1],), weight, eps)


@torch.library.register_fake("gridstride::rms_norm")
def _rms_norm_fake(x: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False) -> Tensor:
    return torch.empty_like(x)


@torch.library.register_fake("gridstride::add_rms_norm")
def _add_rms_norm_fake(
    residual: Tensor, delta: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False
) -> Tensor:
    return torch.empty_like(residual)
