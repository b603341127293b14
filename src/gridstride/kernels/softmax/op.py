"""gridstride::softmax and gridstride::softmax_backward: softmax over the last axis, and its gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gridstride.kernels.torch_op import (
    ceil_div,
    check_alike,
    check_rows,
    element,
    lanes_of_rows,
    launcher,
    of_gradient,
    once_differentiable,
    properties,
    with_gradient,
)

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("softmax(Tensor x) -> Tensor")
_LIBRARY.define("softmax_backward(Tensor dy, Tensor y) -> Tensor")
_CLUSTER = 8  # blocks, of both kernels
_CLUSTER_KEPT = 8  # vectors of 16 bytes that a thread of a cluster keeps
_CLUSTER_THREADS = {256: 4, 512: 2, 1024: 1}
"""Of a block of the forward kernel, and how many of them a multiprocessor holds: small ones while they keep a row."""
_TURNS = 2  # rows of a cluster, where there are so many: later ones begin whenever a place is free
_LONGEST = 32 << 10  # bytes of a row that the rung without clusters keeps in registers


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """e^(x - m) / sum of e^(x - m) along `dim`, m the largest element; in fp32 inside, contiguous where dim is last."""
    if x.dim() == 0 or not -x.dim() <= dim < x.dim():
        raise ValueError(f"dim is {dim}, and x has {x.dim()} axes")
    if dim % x.dim() == x.dim() - 1:
        out: Tensor = _call(x)
        return out
    return softmax(x.movedim(dim, -1)).movedim(-1, dim)


def _launch(folder: str, given: Tensor, out: Tensor, *more: Tensor) -> Tensor:
    """The rung for rows of that width: long ones go to clusters, where the GPU has them."""
    width = given.shape[-1]
    rows = check_rows(given, "x")
    clusters = width * given.element_size() > _LONGEST and properties(given.device).max_cluster >= _CLUSTER
    if clusters:
        threads, macros = _of_cluster(folder, width * given.element_size())
        run = launcher(folder, "05_cluster", given.device, ELEMENT=element(given), **macros)
        waves = _TURNS if macros else 1
        resident = waves * _CLUSTER_THREADS[threads] * properties(given.device).multiprocessors
        blocks = _CLUSTER * min(rows, resident)
    else:
        lanes, kept = lanes_of_rows(width * given.element_size())
        run = launcher(folder, "04_registers", given.device, ELEMENT=element(given), LANES=lanes, KEPT=kept)
        threads = max(lanes, 128)
        blocks = ceil_div(rows, threads // lanes)
    if rows:
        run((blocks, 1, 1), threads, given, *more, out, rows, width)
    return out


def _of_cluster(folder: str, row_bytes: int) -> tuple[int, dict[str, int]]:
    """Threads of a block, and the macros that say so: the backward kernel has one shape."""
    if folder != "softmax":
        return 512, {}
    threads = next((n for n in _CLUSTER_THREADS if row_bytes <= _CLUSTER * _CLUSTER_KEPT * n * 16), 512)
    return threads, {"THREADS": threads, "RESIDENT": _CLUSTER_THREADS[threads]}


@torch.library.impl(_LIBRARY, "softmax", "CUDA")
def _cuda(x: Tensor) -> Tensor:
    return _launch("softmax", x.contiguous(), _fake(x))


@torch.library.impl(_LIBRARY, "softmax_backward", "CUDA")
def _backward_cuda(dy: Tensor, y: Tensor) -> Tensor:
    check_alike(dy, "dy", y, "y")
    return _launch("softmax_backward", y.contiguous(), _fake(y), dy.contiguous())


@torch.library.impl(_LIBRARY, "softmax", "CPU")
def _cpu(x: Tensor) -> Tensor:
    return torch.softmax(x.contiguous(), -1)


@torch.library.impl(_LIBRARY, "softmax_backward", "CPU")
def _backward_cpu(dy: Tensor, y: Tensor) -> Tensor:
    check_alike(dy, "dy", y, "y")
    return torch.ops.aten._softmax_backward_data(dy.contiguous(), y.contiguous(), -1, y.dtype)


@torch.library.register_fake("gridstride::softmax")
def _fake(x: Tensor) -> Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.register_fake("gridstride::softmax_backward")
def _backward_fake(dy: Tensor, y: Tensor) -> Tensor:
    check_alike(dy, "dy", y, "y")
    return _fake(y)


def _keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(output)


def _gradient(ctx: Any, dy: Tensor) -> Tensor:
    (y,) = ctx.saved_tensors
    dx: Tensor = of_gradient(torch.ops.gridstride.softmax_backward, _backward_cuda, dy, y)(dy, y)
    return dx


_call = with_gradient("gridstride::softmax", _cuda, keep=_keep, gradient=_gradient)
once_differentiable("gridstride::softmax_backward", "torch.softmax")
