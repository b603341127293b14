"""The ops as PyTorch's modules: same names, same parameters, same state dicts."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from gridstride.kernels.boundary import need_number, need_tensors
from gridstride.kernels.cross_entropy.op import REDUCTIONS, cross_entropy
from gridstride.kernels.dropout.op import dropout
from gridstride.kernels.gelu.op import gelu
from gridstride.kernels.layer_norm.op import layer_norm
from gridstride.kernels.rms_norm.op import rms_norm
from gridstride.kernels.softmax.op import softmax


class GELU(nn.GELU):
    """nn.GELU in the tanh form."""

    def __init__(self, approximate: str = "tanh") -> None:
        if approximate != "tanh":
            raise ValueError(
                f"approximate is {approximate!r}: the kernel is the tanh form; torch.nn.GELU has the other"
            )
        super().__init__(approximate)

    def forward(self, input: Tensor) -> Tensor:
        """GELU of each element."""
        return gelu(input)


class Softmax(nn.Softmax):
    """nn.Softmax; along other axes than the last one it works on a copy."""

    def __init__(self, dim: int = -1) -> None:
        need_number("Softmax", "dim", dim, whole=True)
        super().__init__(dim)

    def forward(self, input: Tensor) -> Tensor:
        """Softmax along `dim`."""
        return softmax(input, self.dim)


class LayerNorm(nn.LayerNorm):
    """nn.LayerNorm, its parameters and its state dict."""

    def forward(self, input: Tensor) -> Tensor:
        """Layer norm over the last `len(normalized_shape)` axes."""
        need_tensors("LayerNorm", input=input)
        axes = len(self.normalized_shape)
        if input.shape[-axes:] != self.normalized_shape:
            raise ValueError(f"input is {tuple(input.shape)}: it must end in {tuple(self.normalized_shape)}")
        weight, bias = (
            parameter if parameter is None else parameter.flatten() for parameter in (self.weight, self.bias)
        )
        return layer_norm(input.flatten(-axes), weight, bias, self.eps).view(input.shape)


class RMSNorm(nn.RMSNorm):
    """nn.RMSNorm over the last axis, its weight and its state dict. An `eps` of None is that of float32."""

    def __init__(
        self, normalized_shape: int | Sequence[int], eps: float | None = None, elementwise_affine: bool = True,
        device: torch.device | str | None = None, dtype: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__(normalized_shape, eps, elementwise_affine, device, dtype)
        if len(self.normalized_shape) != 1 or self.weight is None:
            raise ValueError(
                f"normalized_shape is {tuple(self.normalized_shape)}, elementwise_affine {self.elementwise_affine}: "
                "the kernel is for the last axis and has a weight; torch.nn.RMSNorm has the others"
            )

    def forward(self, x: Tensor) -> Tensor:
        """x / rms(x) * weight over the last axis."""
        return rms_norm(x, self.weight, torch.finfo(torch.float32).eps if self.eps is None else self.eps)


class CrossEntropyLoss(nn.CrossEntropyLoss):
    """nn.CrossEntropyLoss for labels; ValueError for class weights and label smoothing, and for options of old."""

    def __init__(
        self, weight: None = None, size_average: None = None, ignore_index: int = -100, reduce: None = None,
        reduction: str = "mean", label_smoothing: float = 0.0,
    ) -> None:  # fmt: skip
        need_number("CrossEntropyLoss", "ignore_index", ignore_index, whole=True)
        if reduction not in REDUCTIONS:
            raise ValueError(f"reduction is {reduction!r}, not one of {', '.join(REDUCTIONS)}")
        for name, value in (("weight", weight), ("label_smoothing", label_smoothing or None)):
            if value is not None:
                raise ValueError(f"{name} is given: the kernel has none; torch.nn.CrossEntropyLoss has")
        for name, value in (("size_average", size_average), ("reduce", reduce)):
            if value is not None:
                raise ValueError(f"{name} is {value!r}: say reduction='mean', 'sum' or 'none' instead")
        super().__init__(ignore_index=ignore_index, reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Of logits [C], [N, C] or [N, C, …] and labels without the axis of C."""
        return cross_entropy(input, target, ignore_index=self.ignore_index, reduction=self.reduction)


class Dropout(nn.Dropout):
    """nn.Dropout with masks that are made again instead of kept; not in place."""

    def __init__(self, p: float = 0.5, inplace: bool = False) -> None:
        need_number("Dropout", "p", p)
        if inplace:
            raise ValueError(f"inplace is {inplace!r}: the kernel writes to another tensor; torch.nn.Dropout has it")
        super().__init__(p)

    def forward(self, input: Tensor) -> Tensor:
        """Dropout in training, the input itself in evaluation."""
        return dropout(input, self.p, self.training)
