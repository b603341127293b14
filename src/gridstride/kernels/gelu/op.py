"""gridstride::gelu and gridstride::gelu_backward: GELU in its tanh form, and its gradient."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.boundary import of_gradient, refuse_gradient, with_gradient
from gridstride.kernels.torch_op import ceil_div, check_alike, check_float, element, launcher

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("gelu(Tensor x) -> Tensor")
_LIBRARY.define("gelu_backward(Tensor dy, Tensor x) -> Tensor")
_THREADS = 256  # of both kernels


def gelu(x: Tensor) -> Tensor:
    """x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x³))) of each element, in fp32 inside; torch's `approximate="tanh"`."""
    out: Tensor = _call(x)
    return out


def _blocks(x: Tensor, unroll: int) -> tuple[int, int, int]:
    return ceil_div(x.numel() * x.element_size(), 16 * _THREADS * unroll), 1, 1


@torch.library.impl(_LIBRARY, "gelu", "CUDA")
def _cuda(x: Tensor) -> Tensor:
    x, out = x.contiguous(), _fake(x)
    unroll = 1 if x.dtype == torch.float32 else 2  # as measured: bench/results/ops_h200.json
    run = launcher("gelu", "03_exponential", x.device, ELEMENT=element(x), UNROLL=unroll)
    if x.numel():
        run(_blocks(x, unroll), _THREADS, x, out, x.numel())
    return out


@torch.library.impl(_LIBRARY, "gelu_backward", "CUDA")
def _backward_cuda(dy: Tensor, x: Tensor) -> Tensor:
    check_alike(dy, "dy", x, "x")
    dy, x, out = dy.contiguous(), x.contiguous(), _fake(x)
    run = launcher("gelu_backward", "03_exponential", x.device, ELEMENT=element(x))
    if x.numel():
        run(_blocks(x, 2), _THREADS, x, dy, out, x.numel())
    return out


@torch.library.impl(_LIBRARY, "gelu", "CPU")
def _cpu(x: Tensor) -> Tensor:
    check_float(x, "x")
    return F.gelu(x.contiguous(), approximate="tanh")


@torch.library.impl(_LIBRARY, "gelu_backward", "CPU")
def _backward_cpu(dy: Tensor, x: Tensor) -> Tensor:
    check_float(x, "x")
    check_alike(dy, "dy", x, "x")
    return torch.ops.aten.gelu_backward(dy.contiguous(), x.contiguous(), approximate="tanh")


@torch.library.register_fake("gridstride::gelu")
def _fake(x: Tensor) -> Tensor:
    check_float(x, "x")
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.register_fake("gridstride::gelu_backward")
def _backward_fake(dy: Tensor, x: Tensor) -> Tensor:
    check_alike(dy, "dy", x, "x")
    return _fake(x)


def _keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _gradient(ctx: Any, dy: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    dx: Tensor = of_gradient(torch.ops.gridstride.gelu_backward, _backward_cuda, dy, x)(dy, x)
    return dx


_call = with_gradient("gridstride::gelu", _cuda, keep=_keep, gradient=_gradient)
refuse_gradient("gridstride::gelu_backward", "for second derivatives use torch.nn.functional.gelu")
