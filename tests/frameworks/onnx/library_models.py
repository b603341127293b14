"""Models of the transformers library with few and narrow layers: what users bring, written by others."""

from __future__ import annotations

from typing import Any

import torch
import transformers
from small_models import BATCH, TOKENS, Model, exported
from torch import Tensor, nn

_TOKENS = 61
_TEXT = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
_WORDS = {**_TEXT, "vocab_size": _TOKENS, "max_position_embeddings": 40}
_GROUPED = {**_WORDS, "num_key_value_heads": 2}
_OF_TOKENS: dict[str, dict[str, Any]] = {
    "Bert": _WORDS,
    "Roberta": _WORDS,
    "DistilBert": {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 48, "vocab_size": _TOKENS},
    "GPT2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": _TOKENS, "n_positions": 40},
    "Llama": _GROUPED,
    "Qwen3": {**_GROUPED, "head_dim": 8},
    "T5Encoder": {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": _TOKENS},
}
_OF_PIXELS: dict[str, dict[str, Any]] = {
    "ViT": {**_TEXT, "image_size": 32, "patch_size": 8},
    "ResNet": {"embedding_size": 8, "hidden_sizes": [8, 16], "depths": [1, 1]},
    "MobileNetV2": {"depth_multiplier": 0.35, "image_size": 32},
    "Swin": {"image_size": 32, "embed_dim": 8, "depths": [1, 1], "num_heads": [2, 2], "window_size": 4},
    "ConvNext": {"hidden_sizes": [8, 16, 16, 16], "depths": [1, 1, 1, 1], "image_size": 32},
}
LIBRARY = (*_OF_TOKENS, *_OF_PIXELS)


class _First(nn.Module):
    """The first of a model's outputs."""

    def __init__(self, model: nn.Module, options: dict[str, Any]) -> None:
        super().__init__()
        self.model, self.options = model, options

    def forward(self, x: Tensor) -> Tensor:
        return self.model(x, return_dict=False, **self.options)[0]


def library_model(name: str) -> Model:
    """With weights drawn by a seed."""
    torch.manual_seed(0)
    text = name in _OF_TOKENS
    config = getattr(transformers, f"{name.removesuffix('Encoder')}Config")(
        **(_OF_TOKENS if text else _OF_PIXELS)[name]
    )
    model = getattr(transformers, f"{name}Model")(config)
    for module in model.modules():  # or nothing would be left of an image behind fifty layers
        if isinstance(module, nn.Conv2d):
            nn.init.kaiming_normal_(module.weight)
    options = {"use_cache": False} if name in ("GPT2", "Llama", "Qwen3") else {}
    x = torch.randint(0, _TOKENS, (2, 9)) if text else torch.randn(2, 3, 32, 32)
    shapes = TOKENS[:1] if text else BATCH[:1]
    return Model(name, f"transformers' {name}", exported(_First(model, options), [x]), shapes, tokens=_TOKENS)
