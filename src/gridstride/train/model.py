"""The decoder that a configuration describes, with the weights that training begins from."""

from __future__ import annotations

import math

import torch
from torch import nn

from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.models.families import FAMILIES
from gridstride.train.config.run_config import Config

_ROUND = 64  # rows of the table come in such steps: matrix products are slow at odd sizes
_DEVIATION = 0.02  # of normal weights, as GPT-2 and Llama begin with


def shape(config: Config, tokens: int) -> DecoderConfig:
    """Sizes for a tokenizer of so many tokens."""
    model = config.model
    return DecoderConfig(
        family=model.family,
        vocabulary=-(-tokens // _ROUND) * _ROUND,
        width=model.width,
        layers=model.layers,
        heads=model.heads,
        kv_heads=model.kv_heads,
        head_width=model.head_width,
        hidden=model.hidden,
        context=config.data.sequence,
        tied=model.tied or model.family == "gpt2",
        dropout=model.dropout,
        norm_eps=FAMILIES[model.family].norm_eps,
        **FAMILIES[model.family].switches,
    )


@torch.no_grad()
def initialise(decoder: Decoder) -> None:
    """Normal weights; what is added to the residual stream is smaller the more layers do so (GPT-2, section 2.3)."""
    residual = _DEVIATION / math.sqrt(2 * decoder.config.layers)
    for name, module in decoder.named_modules():
        if isinstance(module, nn.Linear | nn.Embedding):
            added = name.endswith(("o_proj", "down_proj"))
            nn.init.normal_(module.weight, std=residual if added else _DEVIATION)
        if isinstance(module, nn.Linear) and module.bias is not None:
            nn.init.zeros_(module.bias)


def build(config: Config, tokens: int) -> Decoder:
    """A fresh decoder on the CPU, whose weights follow from run.seed alone."""
    torch.manual_seed(config.run.seed)
    decoder = Decoder(shape(config, tokens))
    initialise(decoder)
    return decoder
