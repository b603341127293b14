"""What a decoder looks like: sizes and the few switches by which the Llama, Qwen and GPT-2 families differ."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Family = Literal["llama", "qwen2", "qwen3", "gpt2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RotaryScaling:
    """How rotary frequencies are stretched beyond the length a model was first trained at."""

    kind: Literal["linear", "llama3"]
    factor: float
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_context: int = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class DecoderConfig:
    """Sizes in elements; `context` in tokens. Names in brackets are those of Hugging Face's config.json."""

    family: Family = "llama"
    vocabulary: int  # rows of the embedding [vocab_size]
    width: int  # of the residual stream [hidden_size]
    layers: int  # [num_hidden_layers]
    heads: int  # of queries [num_attention_heads]
    kv_heads: int  # of keys and values [num_key_value_heads]
    head_width: int  # [head_dim]
    hidden: int  # of the feed-forward layer [intermediate_size]
    context: int  # most positions [max_position_embeddings]
    norm_eps: float = 1e-6
    rotary_base: float | None = 10_000.0  # [rope_theta]; None: learned positions, as GPT-2 has them
    rotary_scaling: RotaryScaling | None = None
    tied: bool = False  # embedding and output share their weights [tie_word_embeddings]
    qkv_bias: bool = False  # Qwen2, GPT-2
    output_bias: bool = False  # of the attention's output projection
    mlp_bias: bool = False
    head_norm: bool = False  # RMS norm of each query and key head, Qwen3
    norm: Literal["rms", "layer"] = "rms"
    activation: Literal["silu_gated", "gelu_tanh"] = "silu_gated"
    dropout: float = 0.0  # in training only

    @property
    def group(self) -> int:
        """Query heads that share one key/value head."""
        return self.heads // self.kv_heads

    def parameters(self, *, embedding: bool = True) -> int:
        """Number of weights; without the embedding it is what a token's matrix products cost."""
        qkv = self.width * (self.heads + 2 * self.kv_heads) * self.head_width
        output = self.heads * self.head_width * self.width
        mlp = self.width * self.hidden * (3 if self.activation == "silu_gated" else 2)
        tables = self.vocabulary * self.width * (1 if self.tied else 2)
        if self.rotary_base is None:
            tables += self.context * self.width
        head = self.vocabulary * self.width
        return self.layers * (qkv + output + mlp) + (tables if embedding else head)
