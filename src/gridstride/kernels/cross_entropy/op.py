"""gridstride::cross_entropy and gridstride::cross_entropy_backward: the loss of each row of logits, its gradient."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from gridstride.kernels.autocast import is_autocast
from gridstride.kernels.boundary import need_tensors, of_gradient, refuse_gradient, with_gradient
from gridstride.kernels.torch_op import ceil_div, check, check_float, element, launcher, multiprocessors

_LIBRARY = torch.library.Library("gridstride", "FRAGMENT")
_LIBRARY.define("cross_entropy(Tensor logits, Tensor labels, int ignore_index) -> (Tensor loss, Tensor lse)")
_LIBRARY.define(
    "cross_entropy_backward(Tensor dloss, Tensor logits, Tensor labels, Tensor lse, int ignore_index) -> Tensor dlogits"
)
REDUCTIONS = ("none", "mean", "sum")
_FEWEST, _MOST = 64, 1024  # threads of a row
_PIECE_THREADS = 256
_PIECE = _PIECE_THREADS * 2 * 16  # bytes of a row, whose gradient one block makes
_EACH = 8  # vectors of 16 bytes that a thread has at least, while rows fill the GPU


def cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None = None, *, ignore_index: int = -100, reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """torch.nn.functional.cross_entropy of logits [C], [N, C] or [N, C, …] and int64 labels [], [N] or [N, …].

    In fp32 inside. A label that is neither a class nor `ignore_index` makes the loss NaN on a GPU, and an IndexError on
    a CPU. ValueError for class weights, label smoothing, and targets that are probabilities, which have no kernel.
    """
    if weight is not None or label_smoothing:
        reason = "weight is a tensor" if weight is not None else f"label_smoothing is {label_smoothing}"
        raise ValueError(f"{reason}: the kernel has none; torch.nn.functional.cross_entropy has")
    if reduction not in REDUCTIONS:
        raise ValueError(f"reduction is {reduction!r}, not one of {', '.join(REDUCTIONS)}")
    _check_target(input, target)
    rows = input.movedim(1, -1).flatten(0, -2) if input.dim() > 1 else input[None]
    labels = target.reshape(-1)
    loss = losses(rows, labels, ignore_index)
    dtype = loss.dtype if is_autocast(input) else input.dtype
    if reduction == "none":
        return loss.view(target.shape).to(dtype)
    total = loss.sum()
    return (total if reduction == "sum" else total / (labels != ignore_index).sum()).to(dtype)


def losses(logits: Tensor, labels: Tensor, ignore_index: int) -> Tensor:
    """The float32 loss of each row of logits [N, C] with int64 labels [N]; 0 where the label is to be ignored."""
    loss: Tensor = _call(logits, labels, ignore_index)[0]
    return loss


def _check_target(input: Tensor, target: Tensor) -> None:
    need_tensors("gridstride::cross_entropy", input=input, target=target)
    check_float(input, "input")
    check(input.dim() > 0, "input", input, "logits [C], [N, C] or [N, C, …]")
    shape = input.shape[:1] + input.shape[2:] if input.dim() > 1 else input.shape[:0]
    fits = target.dtype == torch.int64 and target.shape == shape and target.device == input.device
    check(fits, "target", target, lambda: f"labels int64 {tuple(shape)} on {input.device}")


def _wide(x: Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _threads(logits: Tensor) -> int:
    """Of a row: a few vectors for each, and more where there are too few rows for all multiprocessors."""
    rows, classes = logits.shape
    vectors, threads = classes * logits.element_size() // 16, _FEWEST
    per_thread = _EACH if rows >= 2 * multiprocessors(logits.device) else 1
    while threads < _MOST // (4 if per_thread > 1 else 1) and vectors > threads * per_thread:
        threads *= 2
    return threads


def _check(logits: Tensor, labels: Tensor) -> None:
    check_float(logits, "logits")
    check(logits.dim() == 2 and 0 < logits.shape[1] < 1 << 31, "logits", logits, "[rows, classes], at least one class")
    fits = labels.shape == logits.shape[:1] and labels.dtype == torch.int64 and labels.device == logits.device
    check(fits, "labels", labels, lambda: f"int64 [{logits.shape[0]}] on {logits.device}")


@torch.library.impl(_LIBRARY, "cross_entropy", "CUDA")
def _cuda(logits: Tensor, labels: Tensor, ignore_index: int) -> tuple[Tensor, Tensor]:
    loss, lse = _fake(logits, labels, ignore_index)
    rows, classes = logits.shape
    threads = _threads(logits)
    run = launcher("cross_entropy", "04_vectorised", logits.device, ELEMENT=element(logits), THREADS=threads)
    if rows:
        contiguous = logits.contiguous(), labels.contiguous()
        run((rows, 1, 1), threads, *contiguous, loss, lse, rows, classes, ignore_index)
    return loss, lse


@torch.library.impl(_LIBRARY, "cross_entropy_backward", "CUDA")
def _backward_cuda(dloss: Tensor, logits: Tensor, labels: Tensor, lse: Tensor, ignore_index: int) -> Tensor:
    dlogits = _backward_fake(dloss, logits, labels, lse, ignore_index)
    rows, classes = logits.shape
    run = launcher("cross_entropy_backward", "04_pieces", logits.device, ELEMENT=element(logits))
    if rows:
        contiguous = (tensor.contiguous() for tensor in (logits, labels, lse, dloss))
        pieces = ceil_div(classes * logits.element_size(), _PIECE)
        run((rows * pieces, 1, 1), _PIECE_THREADS, *contiguous, dlogits, rows, classes, ignore_index)
    return dlogits


@torch.library.impl(_LIBRARY, "cross_entropy", "CPU")
def _cpu(logits: Tensor, labels: Tensor, ignore_index: int) -> tuple[Tensor, Tensor]:
    _check(logits, labels)
    ignored, is_class = labels == ignore_index, (labels >= 0) & (labels < logits.shape[1])
    wrong = torch.nonzero(~(ignored | is_class)).flatten()
    if len(wrong):
        row, classes = int(wrong[0]), logits.shape[1]
        raise IndexError(
            f"labels[{row}] is {int(labels[row])}: it is neither a class, 0 to {classes - 1}, nor ignore_index, "
            f"{ignore_index}"
        )
    x = logits.to(_wide(logits))
    loss = F.cross_entropy(x, labels, ignore_index=ignore_index, reduction="none")
    return loss.masked_fill(ignored, 0.0), torch.logsumexp(x, 1).masked_fill(ignored, 0.0)


@torch.library.impl(_LIBRARY, "cross_entropy_backward", "CPU")
def _backward_cpu(dloss: Tensor, logits: Tensor, labels: Tensor, lse: Tensor, ignore_index: int) -> Tensor:
    _backward_fake(dloss, logits, labels, lse, ignore_index)
    p = torch.exp(logits.to(_wide(logits)) - lse[:, None])
    one_hot = torch.arange(logits.shape[1], device=logits.device) == labels[:, None]
    slopes = (p - one_hot.to(p.dtype)) * dloss[:, None]
    return slopes.masked_fill((labels == ignore_index)[:, None], 0.0).to(logits.dtype).contiguous()


@torch.library.register_fake("gridstride::cross_entropy")
def _fake(logits: Tensor, labels: Tensor, ignore_index: int) -> tuple[Tensor, Tensor]:
    _check(logits, labels)
    rows = logits.shape[:1]
    return logits.new_empty(rows, dtype=_wide(logits)), logits.new_empty(rows, dtype=_wide(logits))


@torch.library.register_fake("gridstride::cross_entropy_backward")
def _backward_fake(dloss: Tensor, logits: Tensor, labels: Tensor, lse: Tensor, ignore_index: int) -> Tensor:
    _check(logits, labels)
    for name, tensor in (("dloss", dloss), ("lse", lse)):
        fits = tensor.shape == labels.shape and tensor.dtype == _wide(logits) and tensor.device == logits.device
        check(fits, name, tensor, lambda: f"{_wide(logits)} [{labels.shape[0]}] on {logits.device}")
    return torch.empty_like(logits, memory_format=torch.contiguous_format)


def _keep(ctx: Any, inputs: tuple[Tensor, Tensor, int], output: tuple[Tensor, Tensor]) -> None:
    logits, labels, ctx.ignore_index = inputs
    ctx.mark_non_differentiable(output[1])
    ctx.save_for_backward(logits, labels, output[1])


def _gradient(ctx: Any, dloss: Tensor, _: Tensor) -> tuple[Tensor, None, None]:
    saved = ctx.saved_tensors
    op = of_gradient(torch.ops.gridstride.cross_entropy_backward, _backward_cuda, dloss, *saved)
    return op(dloss, *saved, ctx.ignore_index), None, None


_call = with_gradient("gridstride::cross_entropy", _cuda, keep=_keep, gradient=_gradient)
refuse_gradient("gridstride::cross_entropy_backward", "for second derivatives use torch.nn.functional.cross_entropy")
