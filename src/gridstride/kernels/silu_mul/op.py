"""gridstride::silu_mul: the middle of a gated feed-forward layer, silu(gate) * up."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

import gridstride.kernels.swiglu.op  # noqa: F401 (its gradient is ours)
from gridstride.kernels.boundary import with_gradient
from gridstride.kernels.torch_op import ceil_div, check, check_float, element, launcher

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("silu_mul(Tensor gate_up) -> Tensor")
_THREADS, _FEW_BLOCKS = 256, 4096


def silu_mul(gate_up: Tensor) -> Tensor:
    """silu(gate) * up [..., H] of gate_up [..., 2H], gate first, as one matrix product gives both; in fp32 inside."""
    out: Tensor = _call(gate_up)
    return out


def _check(gate_up: Tensor) -> None:
    check_float(gate_up, "gate_up")
    fits = gate_up.dim() > 0 and gate_up.shape[-1] % 2 == 0
    check(fits and gate_up.is_contiguous(), "gate_up", gate_up, "contiguous [..., 2H]")


@torch.library.impl(_LIBRARY, "silu_mul", "CUDA")
def _cuda(gate_up: Tensor) -> Tensor:
    out = _fake(gate_up)
    hidden = out.shape[-1]
    rows = out.numel() // hidden if hidden else 0
    if rows:
        vectors = ceil_div(hidden, 16 // gate_up.element_size())
        run = launcher("silu_mul", "03_vectorised", gate_up.device, ELEMENT=element(gate_up))
        blocks = ceil_div(rows * vectors, _THREADS)
        # Begun early, blocks wait where those of the kernel in front could work: that pays for few of them alone.
        launch = run if blocks <= _FEW_BLOCKS else run.serial
        launch((blocks, 1, 1), _THREADS, gate_up, out, rows, hidden)
    return out


@torch.library.impl(_LIBRARY, "silu_mul", "CPU")
def _cpu(gate_up: Tensor) -> Tensor:
    _check(gate_up)
    gate, up = gate_up.chunk(2, dim=-1)
    return F.silu(gate) * up


@torch.library.register_fake("gridstride::silu_mul")
def _fake(gate_up: Tensor) -> Tensor:
    _check(gate_up)
    return gate_up.new_empty((*gate_up.shape[:-1], gate_up.shape[-1] // 2))


def _keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(*inputs)


def _gradient(ctx: Any, dout: Tensor) -> Tensor:
    (gate_up,) = ctx.saved_tensors
    slopes: tuple[Tensor, Tensor] = torch.ops.gridstride.swiglu_backward(dout, *gate_up.chunk(2, dim=-1))
    return torch.cat(slopes, dim=-1)


_call = with_gradient("gridstride::silu_mul", _cuda, keep=_keep, gradient=_gradient)
