"""The products of a decoder's step: cuBLAS's, or for the few rows of decoding the project's own where it is faster."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.op import misfit, skinny_gemm

FASTER: tuple[tuple[int, int, bool], ...] = ((32, 1024, False), (8, 4096, False), (16, 6144, True))
"""(rows, weight rows, whether with a gate) up to which `skinny_gemm` is faster than cuBLAS, or than cuBLAS and then
silu_mul, on an H200: bench/results/skinny_gemm_h200.json. With few weight rows cuBLAS must split K, and adds up in a
kernel of its own; the gate is one more, whose time is the difference of two chains there."""
MOST_BYTES = 2 * 6144 * 1024
"""Of the weights: nothing larger has been measured but a head of 311 MB, which cuBLAS reads faster."""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias [M, N] of x [M, K]; weights that nothing writes while the GPU works."""
    if _own(x, weight, gated=False):
        return skinny_gemm(x, weight, bias, fixed_weights=True)
    return F.linear(x, weight, bias)


def gated_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """silu(gate) * up [M, N / 2], gate and up the halves of each row of the same product."""
    if _own(x, weight, gated=True):
        return skinny_gemm(x, weight, bias, gated=True, fixed_weights=True)
    return silu_mul(F.linear(x, weight, bias))


def _own(x: Tensor, weight: Tensor, *, gated: bool) -> bool:
    return x.is_cuda and is_faster(len(x), *weight.shape, gated=gated) and not misfit(x, weight)


def is_faster(rows: int, n: int, k: int, *, gated: bool) -> bool:
    """Whether so many rows of 16 bits times an n x k matrix, and perhaps a gate, are in the measured table."""
    listed = any(rows <= most and n <= tallest and gated == with_gate for most, tallest, with_gate in FASTER)
    return listed and 2 * n * k <= MOST_BYTES
