"""gridstride::layer_norm: the norm over the last axis, and what its gradient needs, which is PyTorch's kernel."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gridstride.kernels.torch_op import ceil_div, check, check_rows, element, lanes_of_rows, launcher, with_gradient

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("layer_norm(Tensor x, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)")
_HALVES = (torch.float16, torch.bfloat16)

Three = tuple[Tensor, Tensor, Tensor]


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axis of x [..., C], in fp32 inside."""
    out: Tensor = _call(x, weight, bias, eps)[0]
    return out


def _check(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> None:
    check(x.dim() > 0, "x", x, "a tensor of rows: [..., C]")
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None:
            fits = parameter.shape == x.shape[-1:] and parameter.dtype == x.dtype and parameter.device == x.device
            check(fits, name, parameter, lambda: f"{x.dtype} ({x.shape[-1]},) on {x.device}")


@torch.library.impl(_LIBRARY, "layer_norm", "CUDA")
def _cuda(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Three:
    y, mean, rstd = _fake(x, weight, bias, eps)
    rows, width = check_rows(x, "x"), x.shape[-1]
    lanes, kept = lanes_of_rows(width * x.element_size(), most=2)
    run = launcher("layer_norm", "03_registers", x.device, ELEMENT=element(x), LANES=lanes, KEPT=kept)
    if rows:
        threads = max(lanes, 128)
        weight, bias = (tensor if tensor is None else tensor.contiguous() for tensor in (weight, bias))
        blocks = ceil_div(rows, threads // lanes), 1, 1
        run(blocks, threads, x.contiguous(), weight, bias, y, mean, rstd, rows, width, eps)
    return y, mean, rstd


@torch.library.impl(_LIBRARY, "layer_norm", "CPU")
def _cpu(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Three:
    _check(x, weight, bias)
    wide = [tensor if tensor is None else _widened(tensor) for tensor in (x, weight, bias)]
    y, mean, rstd = torch.native_layer_norm(wide[0], x.shape[-1:], wide[1], wide[2], eps)
    return y.to(x.dtype), mean, rstd


@torch.library.register_fake("gridstride::layer_norm")
def _fake(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Three:
    _check(x, weight, bias)
    y = torch.empty_like(x, memory_format=torch.contiguous_format)
    mean, rstd = (x.new_empty((*x.shape[:-1], 1), dtype=_statistics(x)) for _ in range(2))
    return y, mean, rstd


def _statistics(x: Tensor) -> torch.dtype:
    """The dtype of mean and rstd."""
    return torch.float32 if x.dtype in _HALVES else x.dtype


def _widened(tensor: Tensor) -> Tensor:
    return tensor.to(_statistics(tensor)).contiguous()


# -- the gradient ------------------------------------------------------------------------------------------------------
def _keep(ctx: Any, inputs: tuple[Tensor, Tensor | None, Tensor | None, float], output: Three) -> None:
    x, weight, bias, _ = inputs
    ctx.save_for_backward(x, weight, bias, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _gradient(
    ctx: Any, dy: Tensor, dmean: Tensor, drstd: Tensor
) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
    x, weight, bias, mean, rstd = ctx.saved_tensors
    wide = [tensor if tensor is None or tensor.is_cuda else _widened(tensor) for tensor in (dy, x, weight, bias)]
    needed = ctx.needs_input_grad[:3]
    grads = torch.ops.aten.native_layer_norm_backward(
        wide[0].contiguous(), wide[1].contiguous(), x.shape[-1:], mean, rstd, wide[2], wide[3], needed
    )
    dx, dweight, dbias = (
        grad.to(x.dtype) if is_needed and grad is not None else None
        for grad, is_needed in zip(grads, needed, strict=True)
    )
    return dx, dweight, dbias, None


_call = with_gradient("gridstride::layer_norm", _cuda, keep=_keep, gradient=_gradient)
