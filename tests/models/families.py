"""Small models of each family, made by transformers and saved as it saves them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import transformers

SMALL = {
    "vocab_size": 61,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 48,
    "max_position_embeddings": 64,
}
SMALL_GPT2 = {"vocab_size": 61, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64}
SMALL_GEMMA = SMALL | {"num_hidden_layers": 3, "head_dim": 16, "sliding_window": 24, "query_pre_attn_scalar": 24}
SIZES = {
    "gpt2": SMALL_GPT2,
    "qwen3": SMALL | {"head_dim": 16},
    "mixtral": SMALL | {"num_local_experts": 5},
    "qwen3_moe": SMALL | {"num_experts": 5, "num_experts_per_tok": 3, "moe_intermediate_size": 24},
    "gemma2": SMALL_GEMMA,
    "gemma3_text": SMALL_GEMMA | {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]},
}
"""Of families that need other sizes than SMALL."""
SPECIAL = {"bos_token_id": None, "eos_token_id": None, "pad_token_id": None}


def make(family: str, **changes: Any) -> Any:
    """A model of random weights, none of them at its neutral start: norms and biases must matter."""
    config, model = {
        "llama": (transformers.LlamaConfig, transformers.LlamaForCausalLM),
        "qwen2": (transformers.Qwen2Config, transformers.Qwen2ForCausalLM),
        "qwen3": (transformers.Qwen3Config, transformers.Qwen3ForCausalLM),
        "mistral": (transformers.MistralConfig, transformers.MistralForCausalLM),
        "granite": (transformers.GraniteConfig, transformers.GraniteForCausalLM),
        "olmo2": (transformers.Olmo2Config, transformers.Olmo2ForCausalLM),
        "phi3": (transformers.Phi3Config, transformers.Phi3ForCausalLM),
        "mixtral": (transformers.MixtralConfig, transformers.MixtralForCausalLM),
        "qwen3_moe": (transformers.Qwen3MoeConfig, transformers.Qwen3MoeForCausalLM),
        "gemma2": (transformers.Gemma2Config, transformers.Gemma2ForCausalLM),
        "gemma3_text": (transformers.Gemma3TextConfig, transformers.Gemma3ForCausalLM),
        "gpt2": (transformers.GPT2Config, transformers.GPT2LMHeadModel),
    }[family]
    made = model(config(**(SIZES.get(family, SMALL) | SPECIAL | changes))).eval()
    if hasattr(made, "set_experts_implementation"):
        made.set_experts_implementation("eager")  # its grouped product wants rows of whole 16 bytes
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for weight in made.parameters():
            weight.copy_(torch.randn(weight.shape, generator=generator) * 0.2 + (weight.dim() == 1) * 0.5)
    return made


def saved(folder: Path, family: str = "llama", **changes: Any) -> Path:
    made = make(family, **changes)
    made.save_pretrained(folder)
    return folder


def tokens(vocabulary: int, *shape: int) -> torch.Tensor:
    return torch.randint(vocabulary, shape, generator=torch.Generator().manual_seed(2))
