"""A classifier of two hidden layers, on the same ops as the decoders."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gridstride.models import ops
from gridstride.train.digits.data import CLASSES, SIDE


class Block(nn.Module):
    """x + down(gelu(up(norm(x)))): what a decoder's layer is besides its attention."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.Parameter(torch.ones(width))
        self.up = nn.Linear(width, 2 * width)
        self.down = nn.Linear(2 * width, width)
        self.dropout = nn.Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        normed = ops.rms_norm(x, self.norm.to(x.dtype), 1e-6)
        return x + self.dropout(self.down(ops.gelu_tanh(self.up(normed))))


class Classifier(nn.Module):
    """Images [N, 8, 8] to logits [N, 10]."""

    def __init__(self, width: int = 256, blocks: int = 2) -> None:
        super().__init__()
        self.read = nn.Linear(SIDE * SIDE, width)
        self.blocks = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.decide = nn.Linear(width, CLASSES)

    def forward(self, images_NHW: Tensor) -> Tensor:
        return self.decide(self.blocks(self.read(images_NHW.flatten(1))))
