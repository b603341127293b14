"""gridstride::linear_cross_entropy: the loss of a model's last layer, whose logits are never all there.

Logits of a vocabulary are the largest tensor of a training step, and their gradient is as large. The loss is the last
thing that a step computes, so the slopes of a piece of rows can be taken while its logits are there: the piece is
thrown away, and what is kept is the gradient of the layer's input and of its weight. The backward pass multiplies them
by the slope of the loss.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from gridstride.kernels.boundary import may_want_gradient, need_tensors, with_gradient
from gridstride.kernels.torch_op import ceil_div, check, check_float

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define(
    "linear_cross_entropy(Tensor hidden, Tensor weight, Tensor labels, int ignore_index, bool hidden_slope, "
    "bool weight_slope) -> (Tensor loss, Tensor dhidden, Tensor dweight)"
)
_PIECE_BYTES = 512 << 20  # of logits at a time
_ROWS = 128  # a piece has a multiple of these: a tile of the products
_REDUCTIONS = ("mean", "sum")

Three = tuple[Tensor, Tensor, Tensor]


def linear_cross_entropy(
    hidden: Tensor, weight: Tensor, target: Tensor, *, ignore_index: int = -100, reduction: str = "mean"
) -> Tensor:
    """The float32 cross-entropy of the logits `hidden @ weight.T` with int64 labels; hidden [..., H], weight [V, H].

    As `cross_entropy` of those logits, of which it holds a piece at a time; under autocast both are taken in its dtype.
    ValueError for the reduction "none": its gradient would have to know each row's slope beforehand.
    """
    if reduction not in _REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}, not one of {', '.join(_REDUCTIONS)}")
    need_tensors("gridstride::linear_cross_entropy", hidden=hidden, weight=weight, target=target)
    check(hidden.dim() > 0, "hidden", hidden, "a tensor of rows: [..., H]")
    fits = target.dtype == torch.int64 and target.shape == hidden.shape[:-1] and target.device == hidden.device
    check(fits, "target", target, lambda: f"labels int64 {tuple(hidden.shape[:-1])} on {hidden.device}")
    rows = hidden.flatten(0, -2) if hidden.dim() > 1 else hidden[None]
    labels = target.reshape(-1)
    total = sum_of_losses(rows, weight, labels, ignore_index)
    return divided(total, (labels != ignore_index).sum()) if reduction == "mean" else total


def divided(total: Tensor, count: Tensor) -> Tensor:
    """total / count; NaN with a slope of 0 where nothing was counted, as PyTorch has it."""
    return torch.where(count > 0, total / count.clamp(min=1), torch.nan)


def sum_of_losses(hidden: Tensor, weight: Tensor, labels: Tensor, ignore_index: int) -> Tensor:
    """The losses of rows hidden [N, H] with labels [N], added up in float32 (float64 for what is float64)."""
    if torch.is_autocast_enabled(hidden.device.type):
        dtype = torch.get_autocast_dtype(hidden.device.type)
        hidden, weight = hidden.to(dtype), weight.to(dtype)
    slopes = may_want_gradient(hidden), may_want_gradient(weight)
    loss: Tensor = _call(hidden, weight, labels, ignore_index, *slopes)[0]
    return loss


def rows_of_piece(rows: int, classes: int, element_bytes: int) -> int:
    """How many rows' logits are there at a time: as many as their bound lets, in pieces of about the same length."""
    most = max(_PIECE_BYTES // (classes * element_bytes) // _ROWS, 1) * _ROWS
    rows_each = ceil_div(rows, max(ceil_div(rows, most), 1))
    return max(min(ceil_div(rows_each, _ROWS) * _ROWS, rows), 1)


def _pieces(rows: int, length: int) -> Iterator[slice]:
    return (slice(start, min(start + length, rows)) for start in range(0, rows, length))


def _check(hidden: Tensor, weight: Tensor, labels: Tensor) -> None:
    check_float(hidden, "hidden")
    check(hidden.dim() == 2, "hidden", hidden, "[N, H]")
    fits = weight.dim() == 2 and weight.shape[1] == hidden.shape[1] and 0 < weight.shape[0] < 1 << 31
    fits = fits and weight.dtype == hidden.dtype and weight.device == hidden.device
    check(fits, "weight", weight, lambda: f"{hidden.dtype} [V, {hidden.shape[1]}] on {hidden.device}, V at least 1")
    fits = labels.shape == hidden.shape[:1] and labels.dtype == torch.int64 and labels.device == hidden.device
    check(fits, "labels", labels, lambda: f"int64 [{len(hidden)}] on {hidden.device}")


def _computed(
    hidden: Tensor, weight: Tensor, labels: Tensor, ignore_index: int, hidden_slope: bool, weight_slope: bool
) -> Three:
    total, dhidden, dweight = _fake(hidden, weight, labels, ignore_index, hidden_slope, weight_slope)
    total.zero_()
    length = rows_of_piece(len(hidden), len(weight), weight.element_size())
    sums = torch.zeros_like(dweight, dtype=_dtype_of_sums(dweight, several=len(hidden) > length))
    ones = total.new_ones(length)
    with torch.autocast(hidden.device.type, enabled=False):
        for rows in _pieces(len(hidden), length):
            x, y = hidden[rows], labels[rows]
            logits = x @ weight.T
            losses, lse = torch.ops.gridstride.cross_entropy(logits, y, ignore_index)
            total += losses.sum()
            if not (hidden_slope or weight_slope):
                continue
            slopes = torch.ops.gridstride.cross_entropy_backward(ones[: len(y)], logits, y, lse, ignore_index)
            del logits
            if hidden_slope:
                torch.mm(slopes, weight, out=dhidden[rows])
            if weight_slope:
                _add_product(sums, slopes.T, x)
    return total, dhidden, sums.to(dweight.dtype)


def _dtype_of_sums(dweight: Tensor, *, several: bool) -> torch.dtype:
    """What gradients of pieces are added in: float32 for the short dtypes, whose sums would lose digits."""
    return torch.float32 if several and dweight.dtype in (torch.float16, torch.bfloat16) else dweight.dtype


def _add_product(sums: Tensor, a: Tensor, b: Tensor) -> None:
    """sums += a @ b, in the dtype of sums."""
    if sums.dtype == a.dtype:
        sums.addmm_(a, b)
    elif sums.is_cuda:
        torch.addmm(sums, a, b, out_dtype=sums.dtype, out=sums)
    else:  # a CPU's products have no other dtype than their factors'
        sums.addmm_(a.to(sums.dtype), b.to(sums.dtype))


for _key in ("CPU", "CUDA"):
    torch.library.impl(_LIBRARY, "linear_cross_entropy", _key)(_computed)


@torch.library.register_fake("gridstride::linear_cross_entropy")
def _fake(
    hidden: Tensor, weight: Tensor, labels: Tensor, ignore_index: int, hidden_slope: bool, weight_slope: bool
) -> Three:
    _check(hidden, weight, labels)
    wide = torch.float64 if hidden.dtype == torch.float64 else torch.float32
    dhidden = torch.empty_like(hidden, memory_format=torch.contiguous_format) if hidden_slope else hidden.new_empty(0)
    dweight = torch.empty_like(weight, memory_format=torch.contiguous_format) if weight_slope else weight.new_empty(0)
    return hidden.new_empty((), dtype=wide), dhidden, dweight


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, Tensor, int, bool, bool], output: Three) -> None:
    ctx.slopes = inputs[4:]
    ctx.mark_non_differentiable(*output[1:])
    ctx.save_for_backward(*output[1:])


def _gradient(ctx: Any, dloss: Tensor, *_: Tensor) -> tuple[Tensor | None, Tensor | None, None, None, None, None]:
    if torch.is_grad_enabled() and dloss.requires_grad:
        raise NotImplementedError(
            "gridstride::linear_cross_entropy has no second derivative: for one use torch.nn.functional.linear and "
            "torch.nn.functional.cross_entropy"
        )
    for name, needed, taken in zip(("hidden", "weight"), ctx.needs_input_grad, ctx.slopes, strict=False):
        if needed and not taken:
            raise NotImplementedError(
                f"gridstride::linear_cross_entropy: the gradient of {name} was not taken with the loss: "
                f"{name}_slope is False"
            )
    saved = zip(ctx.saved_tensors, ctx.slopes, strict=True)
    dhidden, dweight = (_times(slope, dloss) if taken else None for slope, taken in saved)
    return dhidden, dweight, None, None, None, None


def _times(slopes: Tensor, factor: Tensor) -> Tensor:
    """slopes * factor [], rounded once: a number without axes would be rounded to the short dtype first."""
    return torch.mul(slopes, factor.reshape(1), out=torch.empty_like(slopes))


_call = with_gradient("gridstride::linear_cross_entropy", _computed, keep=_keep, gradient=_gradient)
