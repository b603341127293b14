"""Low-rank updates of linear layers: W x + scale * B (A x), W as it was (Hu et al. 2021, LoRA, section 4.1)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.families import FAMILIES

ALL = "all-linear"  # PEFT's word
_ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
_NAMES = (*_ATTENTION, "gate_proj", "up_proj", "down_proj")


@dataclass(frozen=True, slots=True, kw_only=True)
class LoraConfig:
    """`targets` are names of linear layers in every layer of the decoder; an update counts alpha / rank."""

    rank: int
    alpha: float
    targets: tuple[str, ...]
    dropout: float = 0.0

    @property
    def scale(self) -> float:
        return self.alpha / self.rank


class LoraLinear(nn.Linear):
    """A linear layer with an update beside it; the layer's own weights keep their names, and are the very same."""

    def __init__(self, layer: nn.Linear, lora_A: Tensor, lora_B: Tensor, *, scale: float, dropout: float = 0.0) -> None:
        """lora_A [rank, in], lora_B [out, rank]."""
        nn.Module.__init__(self)
        self.in_features, self.out_features = layer.in_features, layer.out_features
        self.weight, self.bias = layer.weight, layer.bias
        self.lora_A, self.lora_B = nn.Parameter(lora_A), nn.Parameter(lora_B)
        self.scale, self.dropout, self.enabled = scale, nn.Dropout(dropout), True

    def forward(self, x: Tensor) -> Tensor:
        out = F.linear(x, self.weight, self.bias)
        if not self.enabled:
            return out
        return out + F.linear(F.linear(self.dropout(x), self.lora_A), self.lora_B) * self.scale

    def update(self) -> Tensor:
        """What the weights would be changed by, [out, in]."""
        return self.lora_B @ self.lora_A * self.scale


def targets(words: str, config: DecoderConfig) -> tuple[str, ...]:
    """Layers by name, separated by commas, or `all-linear`; ModelError for a name that this decoder does not have."""
    check_family(config)
    usual = _NAMES if config.experts is None else _ATTENTION
    chosen = usual if words.strip() == ALL else tuple(dict.fromkeys(word.strip() for word in words.split(",")))
    for name in chosen:
        if name in _NAMES and name not in usual:
            raise ModelError(
                f"{name} is a layer of experts in {config.family}, which LoRA does not update here: "
                f"{', '.join(_ATTENTION)}, or train all weights"
            )
        if name not in _NAMES:
            raise ModelError(f"{name or words!r} is no layer that LoRA can update: {', '.join(_NAMES)}, or {ALL}")
    return chosen


def widest(targets: tuple[str, ...], config: DecoderConfig) -> int:
    """The largest width, of what goes in or comes out, of the layers with these names."""
    attention = config.heads * config.head_width
    widths = {"q_proj": attention, "o_proj": attention}  # keys and values have fewer heads
    return max(max(config.width, widths.get(name, 0 if name in _ATTENTION else config.hidden)) for name in targets)


def check_family(config: DecoderConfig) -> None:
    """ModelError for those whose checkpoints have queries, keys and values in one matrix: PEFT's names differ."""
    separate = [family for family, facts in FAMILIES.items() if facts.naming not in ("fused", "conv1d")]
    if config.family not in separate:
        raise ModelError(f"LoRA is for the families {', '.join(separate)}, not for {config.family}")


def add(decoder: Decoder, lora: LoraConfig) -> None:
    """Give the decoder's layers updates that change nothing yet, in place; all else stops learning.

    A is uniform as nn.Linear's weights are and B is 0, both fp32, as PEFT begins.
    """
    decoder.requires_grad_(False)
    for name, layer in linears(decoder):
        if name.rpartition(".")[2] in lora.targets:
            first = torch.empty(lora.rank, layer.in_features, device=layer.weight.device)
            nn.init.kaiming_uniform_(first, a=math.sqrt(5))
            second = torch.zeros(layer.out_features, lora.rank, device=layer.weight.device)
            put(decoder, name, LoraLinear(layer, first, second, scale=lora.scale, dropout=lora.dropout))


def linears(decoder: Decoder) -> Iterator[tuple[str, nn.Linear]]:
    """Name and module of the linear layers that may have an update: all but the output."""
    layers = [(name, module) for name, module in decoder.named_modules() if isinstance(module, nn.Linear)]
    yield from ((name, module) for name, module in layers if name != "lm_head")


def updated(decoder: Decoder) -> dict[str, LoraLinear]:
    """The layers that have an update, by name."""
    return {name: layer for name, layer in linears(decoder) if isinstance(layer, LoraLinear)}


def put(decoder: Decoder, name: str, module: nn.Module) -> None:
    """Replace a module of the decoder."""
    parent, _, leaf = name.rpartition(".")
    setattr(decoder.get_submodule(parent), leaf, module)


@contextmanager
def disabled(decoder: Decoder) -> Iterator[None]:
    """Inside, the decoder is its base."""
    layers = updated(decoder).values()
    for layer in layers:
        layer.enabled = False
    try:
        yield
    finally:
        for layer in layers:
            layer.enabled = True


@torch.no_grad()
def merged(decoder: Decoder) -> dict[str, Tensor]:
    """The state dict of a decoder without updates that computes the same: new tensors where there was one."""
    state = {name: value for name, value in decoder.state_dict().items() if ".lora_" not in name}
    for name, layer in updated(decoder).items():
        state[f"{name}.weight"] = (layer.weight + layer.update()).to(layer.weight.dtype)
    return state
