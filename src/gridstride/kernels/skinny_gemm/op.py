"""gridstride::skinny_gemm: the linear layer for few rows, y = x W^T + bias, and the same with gated SiLU behind it."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.autocast import PRODUCT
from gridstride.kernels.boundary import without_gradient
from gridstride.kernels.skinny_gemm.cut import MOST_ROWS, STEP, Tiling, cut
from gridstride.kernels.torch_op import (
    check,
    check_aligned,
    check_float,
    element,
    launcher,
    multiprocessors,
    properties,
)

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define(
    "skinny_gemm(Tensor x, Tensor weight, Tensor? bias, bool gated=False, bool fixed_weights=False) -> Tensor"
)
_HOPPER = 9  # major compute capability: older GPUs have no clusters, newer ones no wgmma, and some less shared memory
_INSTEAD = "torch.nn.functional.linear takes it"
_HALVES = (torch.float16, torch.bfloat16)


def skinny_gemm(
    x: Tensor, weight: Tensor, bias: Tensor | None = None, *, gated: bool = False, fixed_weights: bool = False
) -> Tensor:
    """x weight^T + bias [M, N] of x [M, K] and weight [N, K], 16-bit, M up to 128, K a multiple of 32; fp32 inside.

    `gated`: silu_mul of that, [M, N / 2]. `fixed_weights`: weight and bias are read before the kernels in front of this
    one have ended, so nothing on the GPU may still be writing them.
    """
    y: Tensor = _call(x, weight, bias, gated, fixed_weights)
    return y


def misfit(x: Tensor, weight: Tensor) -> str:
    """Why the kernel cannot take these CUDA tensors; empty where it can."""
    if x.dtype not in _HALVES:
        return f"{x.dtype} is not one of {', '.join(map(str, _HALVES))}"
    gpu = properties(x.device)
    if gpu.compute_capability[0] != _HOPPER:
        major, minor = gpu.compute_capability
        return f"{gpu.name} has compute capability {major}.{minor}, and the kernel is written for 9.0"
    if _cut(x, weight) is None:
        return _unfitting(x, weight)
    return ""


def _unfitting(x: Tensor, weight: Tensor) -> str:
    m, k = x.shape
    fits = f"1 to {MOST_ROWS} rows and a multiple of {STEP} columns, as many as shared memory holds, fit"
    return f"{m} x {k} times {len(weight)} x {k}: {fits}"


def _cut(x: Tensor, weight: Tensor) -> Tiling | None:
    m, k = x.shape
    return cut(m, len(weight), k, multiprocessors=multiprocessors(x.device))


def launch(
    chosen: Tiling, x: Tensor, weight: Tensor, bias: Tensor | None, y: Tensor, *, gated: bool, fixed_weights: bool,
    **macros: object,
) -> None:  # fmt: skip
    """One launch, cut as given; the caller answers for shapes and dtypes. `macros` are further ones of the kernel."""
    macros |= {**chosen.macros, "ELEMENT": element(x), "GATED": int(gated)}
    kernel = launcher("skinny_gemm", chosen.rung, x.device, **macros)
    (m, k), n = x.shape, len(weight)
    start = kernel if fixed_weights else kernel.serial
    start((chosen.blocks(n), 1, 1), chosen.threads, x, weight, bias, y, m, n, k // STEP, shared=chosen.shared(k))


@torch.library.impl(_LIBRARY, "skinny_gemm", "CUDA")
def _cuda(x: Tensor, weight: Tensor, bias: Tensor | None, gated: bool = False, fixed_weights: bool = False) -> Tensor:
    y = _fake(x, weight, bias, gated)
    check_aligned(x=x, weight=weight)
    if reason := misfit(x, weight):
        raise ValueError(f"skinny_gemm: {reason}; {_INSTEAD}")
    chosen = _cut(x, weight)
    assert chosen is not None
    launch(chosen, x, weight, bias, y, gated=gated, fixed_weights=fixed_weights)
    return y


def _check(x: Tensor, weight: Tensor, bias: Tensor | None, gated: bool) -> None:
    check_float(x, "x")
    check(x.dim() == 2 and x.is_contiguous(), "x", x, "contiguous [M, K]")
    fits = weight.dim() == 2 and weight.shape[1] == x.shape[1] and not (gated and weight.shape[0] % 2)
    fits = fits and weight.dtype == x.dtype and weight.device == x.device and weight.is_contiguous()
    check(fits, "weight", weight, lambda: f"contiguous {x.dtype} [N, {x.shape[1]}] on {x.device}{', N even' * gated}")
    if bias is not None:
        right = bias.shape == weight.shape[:1] and bias.dtype == x.dtype and bias.device == x.device
        check(
            right and bias.is_contiguous(), "bias", bias, lambda: f"contiguous {x.dtype} [{len(weight)}] on {x.device}"
        )
    if not 0 < x.shape[0] <= MOST_ROWS or x.shape[1] < STEP or x.shape[1] % STEP or not weight.shape[0]:
        raise ValueError(f"skinny_gemm: {_unfitting(x, weight)}; {_INSTEAD}")


@torch.library.impl(_LIBRARY, "skinny_gemm", "CPU")
def _cpu(x: Tensor, weight: Tensor, bias: Tensor | None, gated: bool = False, fixed_weights: bool = False) -> Tensor:
    _check(x, weight, bias, gated)
    check_aligned(x=x, weight=weight)
    y = F.linear(x, weight, bias)
    if not gated:
        return y
    gate, up = y.chunk(2, dim=-1)
    return F.silu(gate) * up


@torch.library.register_fake("gridstride::skinny_gemm")
def _fake(x: Tensor, weight: Tensor, bias: Tensor | None, gated: bool = False, fixed_weights: bool = False) -> Tensor:
    _check(x, weight, bias, gated)
    return x.new_empty((x.shape[0], weight.shape[0] // 2 if gated else weight.shape[0]))


_call = without_gradient("gridstride::skinny_gemm", _cuda, instead="use torch.nn.functional.linear", autocast=PRODUCT)
