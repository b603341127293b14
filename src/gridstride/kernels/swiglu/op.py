"""gridstride::swiglu, silu(gate) * up of two tensors, and its gradient."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.autocast import JOIN
from gridstride.kernels.boundary import of_gradient, refuse_gradient, with_gradient
from gridstride.kernels.torch_op import ceil_div, check_alike, check_float, element, launcher

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("swiglu(Tensor gate, Tensor up) -> Tensor")
_LIBRARY.define("swiglu_backward(Tensor dout, Tensor gate, Tensor up) -> (Tensor, Tensor)")
_THREADS = 256  # of both kernels
_UNROLL = 2  # vectors of a thread, forward


def swiglu(gate: Tensor, up: Tensor) -> Tensor:
    """gate / (1 + e^-gate) * up of each element, in fp32 inside; tensors of one shape and dtype."""
    out: Tensor = _call(gate, up)
    return out


def _blocks(x: Tensor, unroll: int) -> tuple[int, int, int]:
    return ceil_div(x.numel() * x.element_size(), 16 * _THREADS * unroll), 1, 1


def _check(gate: Tensor, up: Tensor) -> None:
    check_float(gate, "gate")
    check_alike(up, "up", gate, "gate")


@torch.library.impl(_LIBRARY, "swiglu", "CUDA")
def _cuda(gate: Tensor, up: Tensor) -> Tensor:
    out = _fake(gate, up)
    run = launcher("swiglu", "03_unrolled", gate.device, ELEMENT=element(gate), UNROLL=_UNROLL)
    if gate.numel():
        run(_blocks(gate, _UNROLL), _THREADS, gate.contiguous(), up.contiguous(), out, gate.numel())
    return out


@torch.library.impl(_LIBRARY, "swiglu_backward", "CUDA")
def _backward_cuda(dout: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    dgate, dup = _backward_fake(dout, gate, up)
    run = launcher("swiglu_backward", "03_unrolled", gate.device, ELEMENT=element(gate))
    if gate.numel():
        contiguous = (gate.contiguous(), up.contiguous(), dout.contiguous())
        run(_blocks(gate, 1), _THREADS, *contiguous, dgate, dup, gate.numel())
    return dgate, dup


@torch.library.impl(_LIBRARY, "swiglu", "CPU")
def _cpu(gate: Tensor, up: Tensor) -> Tensor:
    _check(gate, up)
    return F.silu(gate.contiguous()) * up


@torch.library.impl(_LIBRARY, "swiglu_backward", "CPU")
def _backward_cpu(dout: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    _backward_fake(dout, gate, up)
    wide = torch.float64 if gate.dtype == torch.float64 else torch.float32
    d, g, u = (tensor.to(wide).contiguous() for tensor in (dout, gate, up))
    s = torch.sigmoid(g)
    return (d * u * s * (1.0 + g * (1.0 - s))).to(gate.dtype), (d * g * s).to(gate.dtype)


@torch.library.register_fake("gridstride::swiglu")
def _fake(gate: Tensor, up: Tensor) -> Tensor:
    _check(gate, up)
    return torch.empty_like(gate, memory_format=torch.contiguous_format)


@torch.library.register_fake("gridstride::swiglu_backward")
def _backward_fake(dout: Tensor, gate: Tensor, up: Tensor) -> tuple[Tensor, Tensor]:
    check_alike(dout, "dout", gate, "gate")
    dgate = _fake(gate, up)
    return dgate, torch.empty_like(dgate)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _gradient(ctx: Any, dout: Tensor) -> tuple[Tensor, Tensor]:
    saved = ctx.saved_tensors
    op = of_gradient(torch.ops.gridstride.swiglu_backward, _backward_cuda, dout, *saved)
    slopes: tuple[Tensor, Tensor] = op(dout, *saved)
    return slopes


_call = with_gradient("gridstride::swiglu", _cuda, keep=_keep, gradient=_gradient, autocast=JOIN)
refuse_gradient("gridstride::swiglu_backward", "for second derivatives use torch.nn.functional.silu")
