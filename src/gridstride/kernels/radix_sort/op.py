"""gridstride::sort_keys: the elements of a one-dimensional tensor from the smallest to the largest."""

from __future__ import annotations

import torch
from torch import Tensor

from gridstride.kernels.boundary import without_gradient
from gridstride.kernels.torch_op import ceil_div, check, launcher, multiprocessors

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("sort_keys(Tensor keys) -> Tensor")
_KINDS = {torch.int32: 1, torch.float32: 2}  # what the kernel is compiled with
_THREADS, _TILE, _RESIDENT = 512, 8192, 2
_SHARED = 4 * (_THREADS // 32 * 256 + _TILE + 256)  # bytes: counts of warps, a tile in order, where digits go
_WORDS = 4 * 256  # passes and digits
_MOST = 1 << 30  # keys: a tile's count shares a word with two flags


def sort_keys(keys: Tensor) -> Tensor:
    """keys [n], int32 or float32, in ascending order, NaNs last.

    On a GPU NaNs lose their payloads and -0 comes before 0. Without a gradient: torch.sort has one.
    """
    out: Tensor = _call(keys)
    return out


@torch.library.impl(_LIBRARY, "sort_keys", "CUDA")
def _cuda(keys: Tensor) -> Tensor:
    ordered, n = _fake(keys), keys.numel()
    if n:
        tiles = ceil_div(n, _TILE)
        scratch = torch.empty(n + _WORDS * (1 + tiles), dtype=torch.int32, device=keys.device)
        run = launcher("radix_sort", "06_predicates", keys.device, KIND=_KINDS[keys.dtype])
        grid = min(tiles, _RESIDENT * multiprocessors(keys.device)), 1, 1
        run.cooperative(grid, _THREADS, keys.contiguous(), ordered, scratch, n, shared=_SHARED)
    return ordered


@torch.library.impl(_LIBRARY, "sort_keys", "CPU")
def _cpu(keys: Tensor) -> Tensor:
    _check(keys)
    return keys.sort().values


def _check(keys: Tensor) -> None:
    fits = keys.dim() == 1 and keys.dtype in _KINDS and keys.numel() < _MOST
    check(fits, "keys", keys, lambda: f"{' or '.join(map(str, _KINDS))} [n], n below 2^30")


@torch.library.register_fake("gridstride::sort_keys")
def _fake(keys: Tensor) -> Tensor:
    _check(keys)
    return torch.empty_like(keys, memory_format=torch.contiguous_format)


_call = without_gradient("gridstride::sort_keys", _cuda, instead="use torch.sort")
