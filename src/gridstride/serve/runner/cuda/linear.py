"""The products of a decoder's step: cuBLAS's, or for the few rows of decoding the project's own where it is faster."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.op import misfit, skinny_gemm

MOST_ROWS, MOST_BYTES = 32, 2 * 6144 * 1024
"""Of x, and of the weights, up to which `skinny_gemm` multiplies: on an H200 a decode step whose layers' products are
all its own is a quarter shorter than with cuBLAS (bench/results/skinny_gemm_h200.json). One product alone is not always
faster, but each fetches its weights while the kernel in front still runs. More bytes have not been measured, but for a
head of 311 MB, which cuBLAS reads faster."""


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x weight^T + bias [M, N] of x [M, K]; weights that nothing writes while the GPU works."""
    if _own(x, weight):
        return skinny_gemm(x, weight, bias, fixed_weights=True)
    return F.linear(x, weight, bias)


def gated_linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """silu(gate) * up [M, N / 2], gate and up the halves of each row of the same product."""
    if _own(x, weight):
        return skinny_gemm(x, weight, bias, gated=True, fixed_weights=True)
    return silu_mul(F.linear(x, weight, bias))


def _own(x: Tensor, weight: Tensor) -> bool:
    return x.is_cuda and is_faster(len(x), *weight.shape) and not misfit(x, weight)


def is_faster(rows: int, n: int, k: int) -> bool:
    """Whether so many rows of 16 bits times an n x k matrix are within what was measured."""
    return rows <= MOST_ROWS and 2 * n * k <= MOST_BYTES
