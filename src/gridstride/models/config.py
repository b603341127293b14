"""What a decoder looks like: sizes and the few switches by which the families differ (families.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gridstride.models.errors import ModelError

Family = Literal["llama", "qwen2", "qwen3", "mistral", "granite", "olmo2", "phi3", "gpt2"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RotaryScaling:
    """How rotary frequencies are stretched beyond the length a model was first trained at."""

    kind: Literal["linear", "llama3", "yarn"]
    factor: float
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_context: int = 8192
    beta_fast: float = 32.0  # YaRN: turns within the first context above which a frequency is kept
    beta_slow: float = 1.0  # and below which it is stretched
    attention_factor: float = 1.0  # YaRN: of cosines and sines


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
    joint_norm: bool = False  # RMS norm of all query heads together, and of all key heads, OLMo 2
    norm_after: bool = False  # a layer's norms stand behind its attention and its MLP, OLMo 2
    embedding_scale: float = 1.0  # Granite, as the next three
    residual_scale: float = 1.0  # of what attention and MLP add
    attention_scale: float | None = None  # of scores; None: 1 / sqrt(head_width)
    logit_divisor: float = 1.0
    norm: Literal["rms", "layer"] = "rms"
    activation: Literal["silu_gated", "gelu_tanh"] = "silu_gated"
    dropout: float = 0.0  # in training only

    def __post_init__(self) -> None:
        """ModelError where sizes are not positive or contradict one another."""
        _check(self)

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


_SIZES = ("vocabulary", "width", "layers", "heads", "kv_heads", "head_width", "hidden", "context")


def _check(config: DecoderConfig) -> None:
    for name in _SIZES:
        size = getattr(config, name)
        if size < 1:
            raise ModelError(f"{name} is {size}: at least 1 is needed")
    if config.heads % config.kv_heads:
        raise ModelError(
            f"heads {config.heads} [num_attention_heads] is not a multiple of kv_heads {config.kv_heads} "
            "[num_key_value_heads]"
        )
    if config.rotary_base is not None and config.head_width % 2:
        raise ModelError(f"head_width {config.head_width} [head_dim] is odd: rotary positions turn pairs")
    if config.rotary_base is not None and config.rotary_base <= 0:
        raise ModelError(f"rotary_base {config.rotary_base} [rope_theta] is not above 0")
    if config.logit_divisor == 0:
        raise ModelError("logit_divisor [logits_scaling] is 0: logits are divided by it")
    if config.norm_eps < 0:
        raise ModelError(f"norm_eps {config.norm_eps} is below 0")
    if not 0 <= config.dropout < 1:
        raise ModelError(f"dropout {config.dropout} is not in [0, 1)")
    if config.family == "gpt2" and config.heads * config.head_width != config.width:
        raise ModelError(f"width {config.width} is not heads {config.heads} times head_width {config.head_width}")
