"""The norms of decoders: RMS, RMS with weights around 0, layer norm."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gridstride.models import ops
from gridstride.models.config import DecoderConfig


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return ops.rms_norm(x, self.weight, self.eps)


class OffsetRMSNorm(RMSNorm):
    """An RMS norm that multiplies with 1 + weight, as Gemma has it."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__(width, eps)
        nn.init.zeros_(self.weight)

    def forward(self, x: Tensor) -> Tensor:
        return ops.offset_rms_norm(x, self.weight, self.eps)


class LayerNorm(RMSNorm):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__(width, eps)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        return ops.layer_norm(x, self.weight, self.bias, self.eps)


def norm_class(config: DecoderConfig) -> type[RMSNorm]:
    """The norms of this decoder."""
    if config.norm == "layer":
        return LayerNorm
    return OffsetRMSNorm if config.unit_offset else RMSNorm
