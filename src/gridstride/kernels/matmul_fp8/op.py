"""gridstride::matmul_fp8: the product of 8-bit floats with a scale for each row, C = scale_a scale_b (A B^T)."""

from __future__ import annotations

import torch
from torch import Tensor

from gridstride.kernels.boundary import without_gradient
from gridstride.kernels.torch_op import Dim3, ceil_div, check, launcher, properties

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("matmul_fp8(Tensor a, Tensor b, Tensor scale_a, Tensor scale_b, bool fast=False) -> Tensor")
_E4M3 = torch.float8_e4m3fn
_CLUSTER, _TILE_M, _TILE_N, _STAGE, _BOXES = 2, 128, 256, 128 * (128 + 256), 2 * 2 * 2 * 64 * 64  # of 05_async_store
_STAGES = 4
_MMA_TILE, _MMA_SHARED = 128, 4 * 64 * (128 + 128)  # of 03_mma_pipeline
_SQUARE = 32  # of 02_shared_tile
_LONGEST = (1 << 31) - 512  # rows or columns that the kernels count in an int, with a tile more


def matmul_fp8(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, *, fast: bool = False) -> Tensor:
    """scale_a[:, None] * scale_b * (a b^T), bfloat16 [M, N], of a [M, K] and b [N, K] in torch.float8_e4m3fn.

    scale_a [M] and scale_b [N] are float32; one scale for a whole tensor goes in as `scale.expand(M).contiguous()`.
    Sums are float32; `fast` leaves them to Hopper's tensor cores, which keep 14 bits of them: sums of one sign and
    thousands of terms are then off by percents. K a multiple of 16 is many times faster, N one of 8 a little.
    """
    c: Tensor = _call(a, b, scale_a, scale_b, fast)
    return c


@torch.library.impl(_LIBRARY, "matmul_fp8", "CUDA")
def _cuda(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, fast: bool = False) -> Tensor:
    c, (m, k), n = _fake(a, b, scale_a, scale_b, fast), a.shape, len(b)
    if c.numel() == 0:
        return c
    gpu = properties(a.device)
    rung, grid, threads, shared = plan(m, n, capability=gpu.compute_capability, multiprocessors=gpu.multiprocessors)
    macros = {"BFLOAT16": 1, "FAST": int(fast)} if rung == "05_async_store" else {"BFLOAT16": 1}
    kernel = launcher("matmul_fp8", rung, a.device, **macros)
    kernel(grid, threads, a, b, scale_a, scale_b, c, m, n, k, shared=shared)
    return c


def plan(m: int, n: int, *, capability: tuple[int, int], multiprocessors: int) -> tuple[str, Dim3, int, int]:
    """The rung that a GPU has the instructions for; its grid, threads of a block and bytes of shared memory."""
    if capability[0] == 9:
        tiles = ceil_div(n, _TILE_N) * ceil_div(m, _CLUSTER * _TILE_M)
        clusters = min(max(1, multiprocessors // _CLUSTER), tiles)
        return "05_async_store", (_CLUSTER * clusters, 1, 1), 384, _STAGES * _STAGE + _BOXES
    if capability >= (8, 9):
        return "03_mma_pipeline", (ceil_div(n, _MMA_TILE), ceil_div(m, _MMA_TILE), 1), 256, _MMA_SHARED
    return "02_shared_tile", (ceil_div(n, _SQUARE), ceil_div(m, _SQUARE), 1), _SQUARE * _SQUARE, 0


def _check(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor) -> None:
    fits = a.dim() == 2 and a.dtype == _E4M3 and a.is_contiguous() and max(a.shape) <= _LONGEST
    check(fits, "a", a, f"contiguous {_E4M3} [M, K]")
    fits = b.dim() == 2 and b.dtype == _E4M3 and b.is_contiguous() and b.shape[0] <= _LONGEST
    matches = fits and b.shape[1] == a.shape[1] and b.device == a.device
    check(matches, "b", b, f"contiguous {_E4M3} [N, {a.shape[1]}] on {a.device}, a row for each column of the product")
    for name, scale, rows, of in (("scale_a", scale_a, a.shape[0], "a"), ("scale_b", scale_b, b.shape[0], "b")):
        right = scale.shape == (rows,) and scale.dtype == torch.float32 and scale.is_contiguous()
        check(right and scale.device == a.device, name, scale,
              f"contiguous torch.float32 ({rows},) on {a.device}, a scale for each row of {of}")  # fmt: skip


@torch.library.impl(_LIBRARY, "matmul_fp8", "CPU")
def _cpu(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, fast: bool = False) -> Tensor:
    _check(a, b, scale_a, scale_b)
    return (a.float() @ b.float().T * (scale_a[:, None] * scale_b)).bfloat16()


@torch.library.register_fake("gridstride::matmul_fp8")
def _fake(a: Tensor, b: Tensor, scale_a: Tensor, scale_b: Tensor, fast: bool = False) -> Tensor:
    _check(a, b, scale_a, scale_b)
    return a.new_empty((a.shape[0], b.shape[0]), dtype=torch.bfloat16)


_call = without_gradient("gridstride::matmul_fp8", _cuda, instead="use torch.nn.functional.linear of wider tensors")
