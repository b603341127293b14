"""The ops that ship, as functions and as modules; importing this registers them with PyTorch as `gridstride::…`.

On CPU tensors every op is PyTorch's own code; on a GPU the kernels are compiled at first use and kept on disk. GELU,
softmax and layer norm have gradients of ours, attention has PyTorch's; the ops of decoding have none.
"""

from __future__ import annotations

from torch import Tensor, nn

from gridstride.kernels.attention.op import attention, attention_kernel
from gridstride.kernels.gelu.op import gelu
from gridstride.kernels.layer_norm.op import layer_norm
from gridstride.kernels.paged_attention.op import paged_attention
from gridstride.kernels.rms_norm.op import add_rms_norm, rms_norm
from gridstride.kernels.rotary_cache.op import rotary_cache
from gridstride.kernels.sample.op import sample
from gridstride.kernels.silu_mul.op import silu_mul
from gridstride.kernels.skinny_gemm.op import skinny_gemm
from gridstride.kernels.softmax.op import softmax

__all__ = [
    "GELU",
    "LayerNorm",
    "Softmax",
    "add_rms_norm",
    "attention",
    "attention_kernel",
    "gelu",
    "layer_norm",
    "paged_attention",
    "rms_norm",
    "rotary_cache",
    "sample",
    "silu_mul",
    "skinny_gemm",
    "softmax",
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
