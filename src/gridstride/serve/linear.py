"""The products of a decoder's step: cuBLAS's, or for the few rows of decoding the project's own where it is faster."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.op import misfit, skinny_gemm

FASTER: tuple[tuple[int, int], ...] = ()
"""(rows, bytes of weights) up to which `skinny_gemm` is faster than cuBLAS on an H200, both at once; none until timed:
bench/skinny_gemm_h200.py. Empty, every product is cuBLAS's."""


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
    return x.is_cuda and is_faster(len(x), weight.nbytes) and not misfit(x, weight)


def is_faster(rows: int, nbytes: int) -> bool:
    """Whether so many rows times a matrix of so many bytes are in the measured table."""
    return any(rows <= most and nbytes <= largest for most, largest in FASTER)
