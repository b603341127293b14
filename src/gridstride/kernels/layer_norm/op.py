"""gridstride::layer_norm: the norm over the last axis, and its gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gridstride.kernels.autocast import NORM
from gridstride.kernels.boundary import of_gradient, refuse_gradient, with_gradient
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
_LIBRARY.define("layer_norm(Tensor x, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)")
_LIBRARY.define(
    "layer_norm_backward(Tensor dy, Tensor x, Tensor? weight, Tensor mean, Tensor rstd) -> (Tensor, Tensor, Tensor)"
)
_BLOCKS = 4  # of the backward kernel, for each multiprocessor, at most
_STAGES = 3  # rows of its ring
_ON_THE_WAY = 96 << 10  # bytes of rings that keep a multiprocessor's share of the memory busy
_RESERVED = 1024  # bytes of shared memory of a block beside it: the system's, and sums of warps
_HALVES = (torch.float16, torch.bfloat16)

Three = tuple[Tensor, Tensor, Tensor]


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last axis of x [..., C], in fp32 inside."""
    out: Tensor = _call(x, weight, bias, eps)[0]
    return out


def _check(x: Tensor, weight: Tensor | None, bias: Tensor | None) -> None:
    check_float(x, "x")
    check(x.dim() > 0, "x", x, "a tensor of rows: [..., C]")
    for name, parameter in (("weight", weight), ("bias", bias)):
        if parameter is not None:
            fits = parameter.shape == x.shape[-1:] and parameter.dtype == x.dtype and parameter.device == x.device
            check(fits, name, parameter, lambda: f"{x.dtype} ({x.shape[-1]},) on {x.device}")


@torch.library.impl(_LIBRARY, "layer_norm", "CUDA")
def _cuda(x: Tensor, weight: Tensor | None, bias: Tensor | None, eps: float) -> Three:
    y, mean, rstd = _fake(x, weight, bias, eps)
    rows, width = check_rows(x, "x"), x.shape[-1]
    lanes, vectors_kept = lanes_of_rows(width * x.element_size(), most=2)
    run = launcher("layer_norm", "03_registers", x.device, ELEMENT=element(x), LANES=lanes, KEPT=vectors_kept)
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
@torch.library.impl(_LIBRARY, "layer_norm_backward", "CUDA")
def _backward_cuda(dy: Tensor, x: Tensor, weight: Tensor | None, mean: Tensor, rstd: Tensor) -> Three:
    dx, dweight, dbias = _backward_fake(dy, x, weight, mean, rstd)
    rows, width = check_rows(x, "x"), x.shape[-1]
    if not rows:
        return dx, dweight.zero_(), dbias.zero_()
    dy, x, mean, rstd = (tensor.contiguous() for tensor in (dy, x, mean, rstd))
    weight = None if weight is None else weight.contiguous()
    gpu, ring = properties(x.device), _STAGES * 2 * width * x.element_size()
    if gpu.compute_capability < (9, 0) or ring + _RESERVED > gpu.shared_per_block_optin:
        return _torchs_backward(dy, x, weight, mean, rstd)
    lanes, vectors_kept = lanes_of_rows(width * x.element_size(), most=2)
    run = launcher("layer_norm_backward", "03_bulk_ring", x.device, ELEMENT=element(x), LANES=lanes, KEPT=vectors_kept)
    blocks = min(max(1, _ON_THE_WAY // ring), _BLOCKS)
    parts = min(rows, blocks * gpu.multiprocessors)
    partial = torch.empty(2, parts, width, dtype=torch.float32, device=x.device)
    run(
        (parts, 1, 1), lanes, x, weight, dy, mean, rstd, dx, partial[0], partial[1], rows, width, parts, shared=ring
    )  # fmt: skip
    dweight, dbias = partial.sum(1).to(x.dtype)
    return dx, dweight, dbias


def _torchs_backward(dy: Tensor, x: Tensor, weight: Tensor | None, mean: Tensor, rstd: Tensor) -> Three:
    """Before compute capability 9.0, and for rows whose ring does not fit into shared memory."""
    parameter = x.new_ones(x.shape[-1:]) if weight is None else weight
    arguments = dy, x, x.shape[-1:], mean, rstd, parameter, parameter
    dx, dweight, dbias = torch.ops.aten.native_layer_norm_backward(*arguments, [True, True, True])
    return dx, dweight, dbias


@torch.library.impl(_LIBRARY, "layer_norm_backward", "CPU")
def _backward_cpu(dy: Tensor, x: Tensor, weight: Tensor | None, mean: Tensor, rstd: Tensor) -> Three:
    _backward_fake(dy, x, weight, mean, rstd)
    slope, row = _widened(dy), _widened(x)
    g = slope if weight is None else slope * _widened(weight)
    normed = (row - mean) * rstd
    dx = rstd * (g - g.mean(-1, keepdim=True) - normed * (g * normed).mean(-1, keepdim=True))
    dweight, dbias = (
        sums.reshape(-1, x.shape[-1]).sum(0) if x.shape[-1] else sums.new_zeros(0) for sums in (slope * normed, slope)
    )
    return dx.to(x.dtype), dweight.to(x.dtype), dbias.to(x.dtype)


@torch.library.register_fake("gridstride::layer_norm_backward")
def _backward_fake(dy: Tensor, x: Tensor, weight: Tensor | None, mean: Tensor, rstd: Tensor) -> Three:
    check_alike(dy, "dy", x, "x")
    _check(x, weight, None)
    for name, statistic in (("mean", mean), ("rstd", rstd)):
        fits = statistic.shape == (*x.shape[:-1], 1) and statistic.dtype == _statistics(x)
        fits = fits and statistic.device == x.device
        check(fits, name, statistic, lambda: f"{_statistics(x)} {(*x.shape[:-1], 1)} on {x.device}")
    dx = torch.empty_like(x, memory_format=torch.contiguous_format)
    return dx, x.new_empty(x.shape[-1:]), x.new_empty(x.shape[-1:])


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor | None, Tensor | None, float], output: Three) -> None:
    x, weight, _, _ = inputs
    ctx.save_for_backward(x, weight, *output[1:])
    ctx.mark_non_differentiable(*output[1:])


def _gradient(
    ctx: Any, dy: Tensor, dmean: Tensor, drstd: Tensor
) -> tuple[Tensor | None, Tensor | None, Tensor | None, None]:
    x, weight, mean, rstd = ctx.saved_tensors
    tensors = (dy, x) if weight is None else (dy, x, weight)
    op = of_gradient(torch.ops.gridstride.layer_norm_backward, _backward_cuda, *tensors)
    grads = op(dy, x, weight, mean, rstd)
    dx, dweight, dbias = (
        grad if needed else None for grad, needed in zip(grads, ctx.needs_input_grad[:3], strict=True)
    )
    return dx, dweight, dbias, None


refuse_gradient("gridstride::layer_norm_backward", "for second derivatives use torch.nn.functional.layer_norm")
_call = with_gradient("gridstride::layer_norm", _cuda, keep=_keep, gradient=_gradient, autocast=NORM)
