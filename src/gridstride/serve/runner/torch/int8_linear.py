"""Linear layers with weights of 8 bits, a scale for each row: a quarter of fp32's bytes to read for a token."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gridstride.models.decoder import Decoder
from gridstride.models.lora import put
from gridstride.serve.runner.torch.onednn_linear import product

_LARGEST = 127


class Int8Linear(nn.Module):
    """x (weight * scale)^T + bias: weight [out, in] int8, scale [out] fp32. Activations stay as they are."""

    weight: Tensor
    scale: Tensor

    def __init__(self, layer: nn.Linear) -> None:
        super().__init__()
        full = layer.weight.detach().float()
        scale = (full.abs().amax(dim=1) / _LARGEST).clamp_(min=torch.finfo(torch.float32).tiny)
        self.register_buffer("weight", (full / scale[:, None]).round_().to(torch.int8))
        self.register_buffer("scale", scale)
        self.bias = layer.bias

    def forward(self, x: Tensor) -> Tensor:
        """Of many rows: the weights become x's type first, which a few rows should not wait for (runner.cpu)."""
        out = product(x, self.weight.to(x.dtype)) * self.scale.to(x.dtype)
        return out if self.bias is None else out + self.bias


def quantize(decoder: Decoder) -> None:
    """Makes all linear layers such ones, the output too, in place; an embedding keeps its type, tied or not."""
    for name, layer in [(name, module) for name, module in decoder.named_modules() if isinstance(module, nn.Linear)]:
        put(decoder, name, Int8Linear(layer))
