"""The ops that ship, as functions and as modules; importing this registers them with PyTorch as `gridstride::…`.

On CPU tensors every op is PyTorch's own code; on a GPU the kernels are compiled at first use and kept on disk. GELU,
softmax, RMS norm, cross-entropy and dropout have gradients of ours, layer norm and attention have PyTorch's; the other
ops of decoding have none.
"""

from __future__ import annotations

from torch import Tensor, nn

from gridstride.kernels.adamw.op import AdamW, adamw_
from gridstride.kernels.attention.op import attention, attention_kernel
from gridstride.kernels.cross_entropy.op import cross_entropy
from gridstride.kernels.dropout.op import dropout
from gridstride.kernels.gelu.op import gelu
from gridstride.kernels.layer_norm.op import layer_norm
from gridstride.kernels.paged_attention.op import paged_attention
from gridstride.kernels.radix_sort.op import sort_keys
from gridstride.kernels.rms_norm.op import add_rms_norm, rms_norm
from gridstride.kernels.rotary_cache.op import rotary_cache
from gridstride.kernels.sample.op import sample
from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.op import skinny_gemm
from gridstride.kernels.softmax.op import softmax

__all__ = [
    "GELU",
    "AdamW",
    "CrossEntropyLoss",
    "Dropout",
    "LayerNorm",
    "Softmax",
    "adamw_",
    "add_rms_norm",
    "attention",
    "attention_kernel",
    "cross_entropy",
    "dropout",
    "gelu",
    "layer_norm",
    "paged_attention",
    "rms_norm",
    "rotary_cache",
    "sample",
    "silu_mul",
    "skinny_gemm",
    "softmax",
    "sort_keys",
]


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
        super().__init__(dim)

    def forward(self, input: Tensor) -> Tensor:
        """Softmax along `dim`."""
        return softmax(input, self.dim)


class LayerNorm(nn.LayerNorm):
    """nn.LayerNorm, its parameters and its state dict."""

    def forward(self, input: Tensor) -> Tensor:
        """Layer norm over the last `len(normalized_shape)` axes."""
        axes = len(self.normalized_shape)
        if input.shape[-axes:] != self.normalized_shape:
            raise ValueError(f"input is {tuple(input.shape)}: it must end in {tuple(self.normalized_shape)}")
        weight, bias = (given if given is None else given.flatten() for given in (self.weight, self.bias))
        return layer_norm(input.flatten(-axes), weight, bias, self.eps).view(input.shape)


class CrossEntropyLoss(nn.CrossEntropyLoss):
    """nn.CrossEntropyLoss for labels, without class weights and label smoothing."""

    def __init__(self, *, ignore_index: int = -100, reduction: str = "mean") -> None:
        super().__init__(ignore_index=ignore_index, reduction=reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """Of logits [C], [N, C] or [N, C, …] and labels without the axis of C."""
        return cross_entropy(input, target, ignore_index=self.ignore_index, reduction=self.reduction)


class Dropout(nn.Dropout):
    """nn.Dropout with masks that are made again instead of kept; not in place."""

    def __init__(self, p: float = 0.5) -> None:
        super().__init__(p)

    def forward(self, input: Tensor) -> Tensor:
        """Dropout in training, the input itself in evaluation."""
        return dropout(input, self.p, self.training)
