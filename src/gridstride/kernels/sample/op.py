"""gridstride::sample: one token per row of logits, greedy or drawn, from a given uniform number."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from gridstride.kernels.boundary import without_gradient
from gridstride.kernels.torch_op import check, check_devices, check_float, element, launcher

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define(
    "sample(Tensor logits, Tensor temperature, Tensor top_k, Tensor top_p, Tensor min_p, Tensor uniform) -> Tensor"
)
_THREADS = 1024
_WISHES = {"temperature": torch.float32, "top_k": torch.int32, "top_p": torch.float32, "min_p": torch.float32,
           "uniform": torch.float64}  # fmt: skip
_ONE = 2.0**40  # weight of the likeliest token: weights are whole numbers, so that no sum depends on its order


def sample(logits: Tensor, temperature: Tensor, top_k: Tensor, top_p: Tensor, min_p: Tensor, uniform: Tensor) -> Tensor:
    """Tokens int64 [M] of logits [M, V]; temperature, top_p, min_p fp32, top_k int32, uniform fp64 in [0, 1), each [M].

    Temperature 0 takes the likeliest token, of several the first. Else tokens with at least min_p times the largest
    probability stay, of those the k likeliest (0: all), of those the likeliest that together have at least the share
    top_p; equal logits stay or go together. The token is where the kept weights, added up in the vocabulary's order,
    pass `uniform`. A row with NaN, or whose largest logit is infinite, gives -1. top_p of 0 or less leaves the
    likeliest and its equals, of NaN all; min_p is at most 1 and no NaN.
    """
    out: Tensor = _call(logits, temperature, top_k, top_p, min_p, uniform)
    return out


def _check(logits: Tensor, wishes: tuple[Tensor, ...]) -> None:
    check_float(logits, "logits")
    check(logits.dim() == 2 and logits.is_contiguous() and logits.shape[1] > 0, "logits", logits, "contiguous [M, V]")
    rows = logits.shape[:1]
    for name, tensor in zip(_WISHES, wishes, strict=True):
        if tensor.dtype != _WISHES[name] or tensor.shape != rows or not tensor.is_contiguous():
            check(False, name, tensor, f"{_WISHES[name]} [{rows[0]}]")
    check_devices("logits", logits, " ".join(_WISHES), *wishes)


@torch.library.impl(_LIBRARY, "sample", "CUDA")
def _cuda(logits: Tensor, temperature: Tensor, top_k: Tensor, top_p: Tensor, min_p: Tensor, uniform: Tensor) -> Tensor:
    tokens = _fake(logits, temperature, top_k, top_p, min_p, uniform)
    rows, vocabulary = logits.shape
    if rows:
        run = launcher("sample", "03_eight_ways", logits.device, ELEMENT=element(logits))
        run((rows, 1, 1), _THREADS, logits, temperature, top_k, top_p, min_p, uniform, tokens, rows, vocabulary)
    return tokens


@torch.library.impl(_LIBRARY, "sample", "CPU")
def _cpu(logits: Tensor, temperature: Tensor, top_k: Tensor, top_p: Tensor, min_p: Tensor, uniform: Tensor) -> Tensor:
    _check(logits, (temperature, top_k, top_p, min_p, uniform))
    sound = logits.amax(dim=-1).isfinite()
    tokens = torch.where(sound, logits.argmax(dim=-1), -1)
    for m in torch.nonzero((temperature != 0) & sound).flatten().tolist():
        tokens[m] = _drawn(
            logits[m].float(), float(temperature[m]), int(top_k[m]), float(top_p[m]), float(min_p[m]), float(uniform[m])
        )
    return tokens


def _drawn(row: Tensor, temperature: float, top_k: int, top_p: float, min_p: float, uniform: float) -> int:
    weights = (((row - row.max()) / temperature).exp() * _ONE).to(torch.int64)
    candidates = row > -torch.inf
    if min_p > 0.0:
        candidates &= row >= row.max() + math.log(min_p) * temperature
    if 0 < top_k < row.numel():
        candidates &= row >= row.topk(top_k).values[-1]
    if top_p < 1.0:
        order = torch.where(candidates, row, -torch.inf).argsort(descending=True)
        reached = torch.where(candidates, weights, 0)[order].cumsum(0)
        first = int(torch.searchsorted(reached, max(1, int(float(reached[-1]) * max(0.0, top_p)))))
        candidates &= row >= row[order[min(first, row.numel() - 1)]]
    sums = torch.where(candidates, weights, 0).cumsum(0)
    point = min(int(float(sums[-1]) * uniform), int(sums[-1]) - 1)
    return int(torch.searchsorted(sums, point, right=True))


@torch.library.register_fake("gridstride::sample")
def _fake(logits: Tensor, temperature: Tensor, top_k: Tensor, top_p: Tensor, min_p: Tensor, uniform: Tensor) -> Tensor:
    _check(logits, (temperature, top_k, top_p, min_p, uniform))
    return logits.new_empty((logits.shape[0],), dtype=torch.int64)


_call = without_gradient("gridstride::sample", _cuda, instead="use torch.softmax, whose probabilities have one")
