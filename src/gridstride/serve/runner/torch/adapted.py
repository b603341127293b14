"""Several adapters in one batch: each layer adds to each sequence's rows the update that this sequence asked for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gridstride.models.decoder import Decoder
from gridstride.models.huggingface.adapter import Adapter
from gridstride.models.lora import put
from gridstride.serve.engine.batch import Batch


@dataclass(frozen=True, slots=True)
class LoraUpdate:
    """A [rank, in] and B [out, rank], as in models.lora."""

    first: Tensor
    second: Tensor
    scale: float

    def __call__(self, x: Tensor) -> Tensor:
        return F.linear(F.linear(x, self.first), self.second) * self.scale


class AdaptedLinear(nn.Linear):
    """A linear layer with an update for some adapters; `rows` says which rows of a batch are whose."""

    def __init__(self, layer: nn.Linear, updates: Mapping[int, LoraUpdate], rows: Mapping[int, Tensor]) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias
        self._updates, self._rows = updates, rows

    def forward(self, x: Tensor) -> Tensor:
        """[N, in] -> [N, out]."""
        out = F.linear(x, self.weight, self.bias)
        for number, rows in self._rows.items():
            if (update := self._updates.get(number)) is not None:
                out.index_add_(0, rows, update(x[rows]))
        return out


class Adapted:
    """A decoder whose layers know all adapters, in place; a batch is taken before the decoder sees its tokens."""

    def __init__(self, decoder: Decoder, adapters: Sequence[Adapter]) -> None:
        like = decoder.embed_tokens.weight
        self._device = like.device
        self._rows: dict[int, Tensor] = {}  # of the batch, by adapter; the layers look at this very one
        for name in sorted({name for adapter in adapters for name in adapter.weights}):
            updates = {}
            for number, adapter in enumerate(adapters, start=1):
                if name in adapter.weights:
                    first, second = (half.to(like.device, like.dtype) for half in adapter.weights[name])
                    updates[number] = LoraUpdate(first, second, adapter.scale)
            put(decoder, name, AdaptedLinear(decoder.get_submodule(name), updates, self._rows))

    def take(self, batch: Batch) -> None:
        """Which tokens of the batch are whose."""
        self._rows.clear()
        if any(batch.adapters):
            adapters = np.repeat(batch.adapters, np.diff(batch.starts))
            for number in sorted(set(batch.adapters) - {0}):
                self._rows[number] = torch.from_numpy(np.flatnonzero(adapters == number)).to(self._device)
