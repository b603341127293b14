"""Linear layers by oneDNN's products: for few rows, and on processors that are not Intel's, faster than MKL's.

PyTorch's own `linear` takes MKL for fp32. Measured on an EPYC with AVX-512, one thread, matrices of 28 million weights
in all: a prompt of 17 to 512 tokens in 0.61 to 0.72 of the time. One row is a product with a vector, where they are
alike; for bf16 PyTorch takes oneDNN by itself.
"""

from __future__ import annotations

from functools import cache

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gridstride.models.decoder import Decoder
from gridstride.models.lora import put


class OneDnnLinear(nn.Linear):
    """A linear layer for inference on a CPU; the layer's own weights keep their names, and are the very same."""

    def __init__(self, layer: nn.Linear) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias

    def forward(self, x: Tensor) -> Tensor:
        return product(x, self.weight, self.bias)


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x W^T + bias of x [..., in] and W [out, in], on a CPU and without gradients."""
    if x.numel() > x.shape[-1] and x.dtype == torch.float32 and available():
        return _product(x, weight, bias)
    return F.linear(x, weight, bias)


def use(decoder: Decoder) -> None:
    """Makes all linear layers such ones, in place, where oneDNN is."""
    if available():
        for name, layer in [(name, module) for name, module in decoder.named_modules() if type(module) is nn.Linear]:
            put(decoder, name, OneDnnLinear(layer))


@cache
def available() -> bool:
    """Whether this PyTorch has the operator, which its compiler uses and its documentation does not name."""
    x, weight = torch.ones(2, 16), torch.eye(16)
    try:
        with torch.inference_mode():
            return torch.backends.mkldnn.is_available() and torch.equal(_product(x, weight, None), x)
    except (AttributeError, RuntimeError):
        return False


def _product(x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    out: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return out
