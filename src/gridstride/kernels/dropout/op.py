"""gridstride::dropout: the mask follows from a seed, so that the backward pass makes it again and nobody keeps it."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from gridstride.kernels.boundary import need_number, need_tensors, of_gradient, with_gradient
from gridstride.kernels.torch_op import ceil_div, check, check_float, element, launcher

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("dropout(Tensor x, Tensor seed, float p) -> Tensor")
_THREADS, _PER_THREAD = 256, 8
_WORD = 0xFFFFFFFF
_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


def dropout(x: Tensor, p: float = 0.5, training: bool = True, *, seed: Tensor | None = None) -> Tensor:
    """x / (1 - p) where an element is kept, else 0, whatever x; each is dropped with probability p, x itself in
    evaluation.

    `seed`: int64 [2] on x's device, a key and where its counter begins; without one PyTorch's generator of that device
    gives it. The same seed drops the same elements, on a CPU and on a GPU.
    """
    need_tensors("gridstride::dropout", x=x)
    need_number("gridstride::dropout", "p", p)
    if not 0.0 <= p <= 1.0:
        raise ValueError(f"p is {p}: the share to be dropped is between 0 and 1")
    if not training or p == 0.0:
        return x
    if seed is None:
        seed = torch.randint(-(1 << 63), (1 << 63) - 1, (2,), dtype=torch.int64, device=x.device)
    out: Tensor = _call(x, seed, p)
    return out


def _numbers(p: float) -> tuple[int, float]:
    """Random words below the first are dropped, what is kept is multiplied by the second; p is below 1."""
    return min(int(p * 2**32), _WORD), 1.0 / (1.0 - p)


def _check(x: Tensor, seed: Tensor) -> None:
    check_float(x, "x")
    fits = seed.dtype == torch.int64 and seed.shape == (2,) and seed.device == x.device
    check(fits, "seed", seed, lambda: f"torch.int64 (2,) on {x.device}")


@torch.library.impl(_LIBRARY, "dropout", "CUDA")
def _cuda(x: Tensor, seed: Tensor, p: float) -> Tensor:
    y, x, n = _fake(x, seed, p), x.contiguous(), x.numel()
    run = launcher("dropout", "03_vectorised", x.device, ELEMENT=element(x))
    if p == 1.0:
        return y.zero_()
    if n:
        grid = ceil_div(n, _THREADS * _PER_THREAD), 1, 1
        run(grid, _THREADS, x, seed.contiguous(), y, n, *_numbers(p))
    return y


@torch.library.impl(_LIBRARY, "dropout", "CPU")
def _cpu(x: Tensor, seed: Tensor, p: float) -> Tensor:
    _check(x, seed)
    if p == 1.0:
        return torch.zeros_like(x, memory_format=torch.contiguous_format)
    (drop, scale), n = _numbers(p), x.numel()
    keep_mask = _philox(torch.arange(ceil_div(n, 4)) + seed[1], seed[0]).flatten()[:n] >= drop
    return torch.where(keep_mask.view(x.shape), x * scale, 0.0).contiguous()


def _philox(counter: Tensor, key: Tensor) -> Tensor:
    """Philox4x32-10: four words [n, 4] of 64-bit counters [n]. int64 products wrap, which leaves their bits right."""
    words = [counter & _WORD, counter >> 32 & _WORD, torch.zeros_like(counter), torch.zeros_like(counter)]
    keys = [key & _WORD, key >> 32 & _WORD]
    for _ in range(10):
        first, second = _MULTIPLIERS[0] * words[0], _MULTIPLIERS[1] * words[2]
        words = [second >> 32 & _WORD ^ words[1] ^ keys[0], second & _WORD,
                 first >> 32 & _WORD ^ words[3] ^ keys[1], first & _WORD]  # fmt: skip
        keys = [key + step & _WORD for key, step in zip(keys, _WEYL, strict=True)]
    return torch.stack(words, 1)


@torch.library.register_fake("gridstride::dropout")
def _fake(x: Tensor, seed: Tensor, p: float) -> Tensor:
    _check(x, seed)
    return torch.empty_like(x, memory_format=torch.contiguous_format)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, float], output: Tensor) -> None:
    _, seed, ctx.p = inputs
    ctx.save_for_backward(seed)


def _gradient(ctx: Any, dy: Tensor) -> tuple[Tensor, None, None]:
    (seed,) = ctx.saved_tensors
    return of_gradient(torch.ops.gridstride.dropout, _cuda, dy, seed)(dy, seed, ctx.p), None, None


_call = with_gradient("gridstride::dropout", _cuda, keep=_keep, gradient=_gradient)
