"""gridstride::rms_norm with its gradient, and gridstride::add_rms_norm: behind the addition to the residual stream."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.autocast import RMS_NORM, is_autocast
from gridstride.kernels.boundary import (
    may_want_gradient,
    need_tensors,
    of_gradient,
    refuse_gradient,
    with_gradient,
    without_gradient,
)
from gridstride.kernels.torch_op import (
    ceil_div,
    check,
    check_alike,
    check_float,
    check_rows,
    element,
    lanes_of_rows,
    launcher,
    properties,
)

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("rms_norm(Tensor x, Tensor weight, float eps, bool fixed_weights=False) -> Tensor")
_LIBRARY.define(
    "add_rms_norm(Tensor(a!) residual, Tensor delta, Tensor weight, float eps, bool fixed_weights=False) -> Tensor"
)
_LIBRARY.define("rms_norm_backward(Tensor dy, Tensor x, Tensor weight, float eps) -> (Tensor, Tensor)")
_THREADS, _MOST_THREADS = 128, 1024
_FEW_ROWS = 4096
_MOST_KEPT = 4  # vectors of 16 bytes that a thread holds in registers
_MOST_KEPT_ALONE = 16  # where it holds nothing beside them
_WIDEST, _WIDEST_SUM = 256 << 10, 64 << 10  # bytes of a row: 1,024 threads keep no more, and less where they keep sums
_BLOCKS = 4  # of the backward kernel, for each multiprocessor, at most
_STAGES = 3  # rows of its ring
_ON_THE_WAY = 48 << 10  # bytes of rings that keep a multiprocessor's share of the memory busy
_RESERVED = 1024  # bytes of shared memory of a block beside it: the system's, and sums of warps


def rms_norm(x: Tensor, weight: Tensor, eps: float, *, fixed_weights: bool = False) -> Tensor:
    """x / rms(x) * weight over the last axis of x [..., W], in fp32; tensors of one dtype.

    Rows of more than 256 KiB go to PyTorch's kernel, which is faster on them.

    `fixed_weights`: the weight is read before the kernels in front of this one have ended, so nothing on the GPU may
    still be writing it.
    """
    out: Tensor = _call(x, weight, eps, fixed_weights)
    return out


def add_rms_norm(residual: Tensor, delta: Tensor, weight: Tensor, eps: float, *, fixed_weights: bool = False) -> Tensor:
    """residual += delta, in place, and rms_norm of the sum; the norm sees it before it is rounded.

    Where a gradient is wanted, and for rows of more than 64 KiB, these are two steps, and the norm sees the rounded
    sum.
    """
    need_tensors("gridstride::add_rms_norm", residual=residual, delta=delta, weight=weight)
    if is_autocast(residual):
        return rms_norm(residual.add_(delta), weight, eps)
    needs_gradient = may_want_gradient(residual, delta, weight)
    if needs_gradient or (
        residual.is_cuda and residual.dim() and residual.shape[-1] * residual.element_size() > _WIDEST_SUM
    ):
        check_alike(delta, "delta", residual, "residual")
        _check_weight(weight, residual, "residual")
        return rms_norm(residual.add_(delta), weight, eps)
    out: Tensor = _add_call(residual, delta, weight, eps, fixed_weights)
    return out


def _check_weight(weight: Tensor, x: Tensor, name: str = "x") -> None:
    check_float(x, name)
    check(x.dim() > 0, name, x, "a tensor of rows: [..., W]")
    fits = weight.shape == x.shape[-1:] and weight.dtype == x.dtype and weight.device == x.device
    check(fits, "weight", weight, lambda: f"{x.dtype} [{x.shape[-1]}] on {x.device}")


def _check_sum(residual: Tensor, delta: Tensor, weight: Tensor) -> None:
    _check_weight(weight, residual, "residual")
    check(residual.is_contiguous(), "residual", residual, "contiguous")
    check_alike(delta, "delta", residual, "residual")
    check(delta.is_contiguous(), "delta", delta, "contiguous")


def _launch(x: Tensor, delta: Tensor | None, weight: Tensor, eps: float, fixed_weights: bool) -> Tensor:
    out = torch.empty_like(x)
    width = x.shape[-1]
    rows = x.numel() // width if width else 0
    if width * x.element_size() > _WIDEST and delta is None:
        return F.rms_norm(x, (width,), weight, eps)
    if rows:
        weight, fixed = weight.contiguous(), fixed_weights and weight.is_contiguous()  # a copy is written in front
        threads, vectors_kept, loads_early = _lanes(width * x.element_size(), adds=delta is not None)
        macros = {
            "ELEMENT": element(x),
            "THREADS": threads,
            "KEPT": vectors_kept,
            "FIXED_WEIGHTS": int(fixed and loads_early),
        }
        macros |= {"ADDS": int(delta is not None), "EARLY_WEIGHTS": int(loads_early)}
        run = launcher("rms_norm", "03_registers", x.device, **macros)
        # Begun early, blocks wait where those of the kernel in front could work: that pays for few rows alone.
        launch = run if rows <= _FEW_ROWS else run.serial
        launch((rows, 1, 1), threads, x, delta, weight, out, rows, width, eps)
    return out


def _lanes(row_bytes: int, *, adds: bool) -> tuple[int, int, bool]:
    """Threads of a row, vectors that each keeps, and whether it has registers for the weights as well: as few threads
    as hold the row, where any number does. Without sums to keep, which are in fp32, a thread holds more.
    """
    vectors, threads = ceil_div(row_bytes, 16), _THREADS
    while threads < _MOST_THREADS and vectors > threads * _MOST_KEPT:
        threads *= 2
    vectors_kept = ceil_div(vectors, threads)
    early = vectors_kept <= _MOST_KEPT and not (adds and threads == _MOST_THREADS)
    return threads, min(vectors_kept, _MOST_KEPT if adds else _MOST_KEPT_ALONE), early


@torch.library.impl(_LIBRARY, "rms_norm", "CUDA")
def _rms_norm_cuda(x: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False) -> Tensor:
    _check_weight(weight, x)
    return _launch(x.contiguous(), None, weight, eps, fixed_weights)


@torch.library.impl(_LIBRARY, "add_rms_norm", "CUDA")
def _add_rms_norm_cuda(
    residual: Tensor, delta: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False
) -> Tensor:
    _check_sum(residual, delta, weight)
    out = _launch(residual, delta, weight, eps, fixed_weights)
    torch.autograd.graph.increment_version(residual)
    return out


@torch.library.impl(_LIBRARY, "rms_norm", "CPU")
def _rms_norm_cpu(x: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False) -> Tensor:
    _check_weight(weight, x)
    return F.rms_norm(x.contiguous(), (x.shape[-1],), weight, eps)


@torch.library.impl(_LIBRARY, "add_rms_norm", "CPU")
def _add_rms_norm_cpu(
    residual: Tensor, delta: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False
) -> Tensor:
    _check_sum(residual, delta, weight)
    residual += delta
    return F.rms_norm(residual, (residual.shape[-1],), weight, eps)


@torch.library.register_fake("gridstride::rms_norm")
def _rms_norm_fake(x: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False) -> Tensor:
    _check_weight(weight, x)
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.register_fake("gridstride::add_rms_norm")
def _add_rms_norm_fake(
    residual: Tensor, delta: Tensor, weight: Tensor, eps: float, fixed_weights: bool = False
) -> Tensor:
    _check_sum(residual, delta, weight)
    return torch.empty_like(residual)


# -- the gradient ------------------------------------------------------------------------------------------------------
@torch.library.impl(_LIBRARY, "rms_norm_backward", "CUDA")
def _backward_cuda(dy: Tensor, x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    dx, dweight = _backward_fake(dy, x, weight, eps)
    rows, width = check_rows(x, "x"), x.shape[-1]
    if not rows:
        return dx, dweight.zero_()
    dy, x, weight = dy.contiguous(), x.contiguous(), weight.contiguous()
    gpu, ring = properties(x.device), _STAGES * 2 * width * x.element_size()
    bulk_ring = gpu.compute_capability >= (9, 0) and ring + _RESERVED <= gpu.shared_per_block_optin
    rung, shared = ("05_bulk_ring", ring) if bulk_ring else ("04_prefetch", 0)
    lanes, vectors_kept = lanes_of_rows(width * x.element_size(), most=2)
    run = launcher("rms_norm_backward", rung, x.device, ELEMENT=element(x), LANES=lanes, KEPT=vectors_kept)
    blocks = min(max(1, _ON_THE_WAY // shared), _BLOCKS) if shared else _BLOCKS
    parts = min(rows, blocks * gpu.multiprocessors)
    partial = torch.empty(parts, width, dtype=torch.float32, device=x.device)
    run((parts, 1, 1), lanes, x, weight, dy, dx, partial, rows, width, parts, eps, shared=shared)
    return dx, partial.sum(0).to(weight.dtype)


@torch.library.impl(_LIBRARY, "rms_norm_backward", "CPU")
def _backward_cpu(dy: Tensor, x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    _backward_fake(dy, x, weight, eps)
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    slope, factor, row = (tensor.to(wide).contiguous() for tensor in (dy, weight, x))
    scale = torch.rsqrt(row.square().mean(-1, keepdim=True) + eps)
    normed, g = row * scale, slope * factor
    dx = scale * (g - normed * (g * normed).mean(-1, keepdim=True))
    dweight = (slope * normed).reshape(-1, x.shape[-1]).sum(0) if x.shape[-1] else factor
    return dx.to(x.dtype), dweight.to(weight.dtype)


@torch.library.register_fake("gridstride::rms_norm_backward")
def _backward_fake(dy: Tensor, x: Tensor, weight: Tensor, eps: float) -> tuple[Tensor, Tensor]:
    check_alike(dy, "dy", x, "x")
    _check_weight(weight, x)
    return torch.empty_like(x, memory_format=torch.contiguous_format), torch.empty_like(weight).contiguous()


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, float, bool], output: Tensor) -> None:
    ctx.save_for_backward(*inputs[:2])
    ctx.eps = inputs[2]


def _gradient(ctx: Any, dy: Tensor) -> tuple[Tensor, Tensor, None, None]:
    x, weight = ctx.saved_tensors
    op = of_gradient(torch.ops.gridstride.rms_norm_backward, _backward_cuda, dy, x, weight)
    dx, dweight = op(dy, x, weight, ctx.eps)
    return dx, dweight, None, None


_call = with_gradient("gridstride::rms_norm", _rms_norm_cuda, keep=_keep, gradient=_gradient, autocast=RMS_NORM)
refuse_gradient("gridstride::rms_norm_backward", "for second derivatives use torch.nn.functional.rms_norm")


_add_call = without_gradient(
    "gridstride::add_rms_norm",
    _add_rms_norm_cuda,
    instead="use gridstride.ops.add_rms_norm, which then is an addition and rms_norm",
)
