"""gridstride::softmax and gridstride::softmax_backward: softmax over the last axis, and its gradient."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gridstride.kernels.autocast import SOFTMAX
from gridstride.kernels.boundary import need_number, need_tensors, of_gradient, refuse_gradient, with_gradient
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
_LIBRARY.define("softmax(Tensor x) -> Tensor")
_LIBRARY.define("softmax_backward(Tensor dy, Tensor y) -> Tensor")
_CLUSTER = 8  # blocks, of both kernels
_CLUSTER_KEPT = 8  # vectors of 16 bytes that a thread of a cluster keeps
_CLUSTER_THREADS = (256, 512, 1024)  # of a block of the forward kernel: small ones while they keep a row
_RESIDENT = {(256, 4): 3, (256, 2): 4, (512, 4): 2, (512, 2): 2, (1024, 4): 1, (1024, 2): 1}
"""Blocks of a multiprocessor, by threads and bytes of an element: of floats four would have too few registers."""
_RING_THREADS, _RING_STAGES = 512, 3
_RING_SLICE = 4096  # vectors of a row that a block of the ring has, at most
_RING_BLOCKS = 2  # of a row, at most: with more, telling each other takes longer than the copies of the next rows
_LONGEST = 32 << 10  # bytes of a row that the rung without clusters keeps in registers


def softmax(x: Tensor, dim: int = -1) -> Tensor:
    """e^(x - m) / sum of e^(x - m) along `dim`, m the largest element; in fp32 inside, contiguous where dim is last.

    Rows that are no whole number of 16 bytes go to PyTorch's kernel, which is faster on them.
    """
    need_tensors("gridstride::softmax", x=x)
    need_number("gridstride::softmax", "dim", dim, whole=True)
    if x.dim() == 0 or not -x.dim() <= dim < x.dim():
        raise ValueError(f"dim is {dim}, and x has {x.dim()} axes")
    if dim % x.dim() == x.dim() - 1:
        out: Tensor = _call(x)
        return out
    return softmax(x.movedim(dim, -1)).movedim(-1, dim)


def _check(x: Tensor, name: str) -> None:
    check_float(x, name)
    check(x.dim() > 0, name, x, "a tensor of rows: [..., C]")


def _forward(x: Tensor, out: Tensor) -> Tensor:
    """The rung for rows of that width: by their length one block has them, one or two with a ring, or a cluster."""
    rows, width = check_rows(x, "x"), x.shape[-1]
    row_bytes, gpu = width * x.element_size(), properties(x.device)
    if row_bytes % 16:
        return torch.softmax(x, -1, out=out)
    if row_bytes <= _LONGEST or gpu.max_cluster < _CLUSTER:
        return _of_blocks("softmax", x, out)
    share = next((n for n in range(1, _RING_BLOCKS + 1) if row_bytes <= n * _RING_SLICE * 16), 0)
    if share:
        shared = _RING_STAGES * 16 * ceil_div(row_bytes // 16, share)
        run = launcher("softmax", "05_bulk_ring", x.device, ELEMENT=element(x), CLUSTER=share)
        blocks = share * min(rows, gpu.multiprocessors // share)
        if rows:
            run((blocks, 1, 1), _RING_THREADS, x, out, rows, width, shared=shared)
        return out
    threads = next((n for n in _CLUSTER_THREADS if row_bytes <= _CLUSTER * _CLUSTER_KEPT * n * 16), 512)
    resident = _RESIDENT[threads, min(x.element_size(), 4)]
    run = launcher("softmax", "06_cluster", x.device, ELEMENT=element(x), THREADS=threads, RESIDENT=resident)
    if rows:
        run((_CLUSTER * min(rows, resident * gpu.multiprocessors), 1, 1), threads, x, out, rows, width)
    return out


def _backward(y: Tensor, dy: Tensor, dx: Tensor) -> Tensor:
    """Long rows go to clusters, where the GPU has them."""
    rows, width, gpu = check_rows(y, "y"), y.shape[-1], properties(y.device)
    if width * y.element_size() <= _LONGEST or gpu.max_cluster < _CLUSTER:
        return _of_blocks("softmax_backward", y, dx, dy)
    run = launcher("softmax_backward", "05_cluster", y.device, ELEMENT=element(y))
    if rows:
        run((_CLUSTER * min(rows, 2 * gpu.multiprocessors), 1, 1), 512, y, dy, dx, rows, width)
    return dx


def _of_blocks(folder: str, x: Tensor, out: Tensor, *more: Tensor) -> Tensor:
    """A row in the registers of one block, or several rows."""
    rows, width = check_rows(x, "x"), x.shape[-1]
    lanes, vectors_kept = lanes_of_rows(width * x.element_size())
    run = launcher(folder, "04_registers", x.device, ELEMENT=element(x), LANES=lanes, KEPT=vectors_kept)
    threads = max(lanes, 128)
    if rows:
        run((ceil_div(rows, threads // lanes), 1, 1), threads, x, *more, out, rows, width)
    return out


@torch.library.impl(_LIBRARY, "softmax", "CUDA")
def _cuda(x: Tensor) -> Tensor:
    return _forward(x.contiguous(), _fake(x))


@torch.library.impl(_LIBRARY, "softmax_backward", "CUDA")
def _backward_cuda(dy: Tensor, y: Tensor) -> Tensor:
    check_alike(dy, "dy", y, "y")
    return _backward(y.contiguous(), dy.contiguous(), _fake(y))


@torch.library.impl(_LIBRARY, "softmax", "CPU")
def _cpu(x: Tensor) -> Tensor:
    _check(x, "x")
    return torch.softmax(x.contiguous(), -1)


@torch.library.impl(_LIBRARY, "softmax_backward", "CPU")
def _backward_cpu(dy: Tensor, y: Tensor) -> Tensor:
    _check(y, "y")
    check_alike(dy, "dy", y, "y")
    return torch.ops.aten._softmax_backward_data(dy.contiguous(), y.contiguous(), -1, y.dtype)


@torch.library.register_fake("gridstride::softmax")
def _fake(x: Tensor) -> Tensor:
    _check(x, "x")
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.register_fake("gridstride::softmax_backward")
def _backward_fake(dy: Tensor, y: Tensor) -> Tensor:
    _check(y, "y")
    check_alike(dy, "dy", y, "y")
    return _fake(y)


def _keep(ctx: Any, inputs: tuple[Tensor], output: Tensor) -> None:
    ctx.save_for_backward(output)


def _gradient(ctx: Any, dy: Tensor) -> Tensor:
    (y,) = ctx.saved_tensors
    dx: Tensor = of_gradient(torch.ops.gridstride.softmax_backward, _backward_cuda, dy, y)(dy, y)
    return dx


_call = with_gradient("gridstride::softmax", _cuda, keep=_keep, gradient=_gradient, autocast=SOFTMAX)
refuse_gradient("gridstride::softmax_backward", "for second derivatives use torch.softmax")
