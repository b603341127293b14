"""What a decoder looks like: sizes and the few switches by which the families differ (families.py)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gridstride.models.errors import ModelError

Family = Literal[
    "llama", "qwen2", "qwen3", "mistral", "granite", "olmo2", "phi3", "gpt2", "mixtral", "qwen3_moe", "gemma2",
    "gemma3_text",
]  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class RotaryScaling:
    """How rotary frequencies are stretched beyond the length a model was first trained at."""

    kind: Literal["linear", "llama3", "yarn", "longrope"]
    factor: float
    low_freq_factor: float = 1.0
    high_freq_factor: float = 4.0
    original_context: int = 8192
    beta_fast: float = 32.0  # YaRN: turns within the first context above which a frequency is kept
    beta_slow: float = 1.0  # and below which it is stretched
    attention_factor: float = 1.0  # YaRN, LongRoPE: of cosines and sines
    short_factors: tuple[float, ...] = ()  # LongRoPE: of each wave, in sequences within the first context
    long_factors: tuple[float, ...] = ()  # and in longer ones


@dataclass(frozen=True, slots=True, kw_only=True)
class SlidingWindow:
    """Sliding windows: a token sees the last `size` positions, its own among them [sliding_window]."""

    size: int
    full: tuple[int, ...] = ()  # layers without one [layer_types]
    rotary_base: float | None = None  # of the layers that have one; None: that of all [rope_local_base_freq]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertsConfig:
    """Mixtures of experts: a router sends each token to `per_token` of `count` gated layers."""

    count: int  # [num_experts, num_local_experts]
    per_token: int  # [num_experts_per_tok]
    hidden: int  # of each expert [moe_intermediate_size; Mixtral: intermediate_size]
    normed: bool  # the weights of a token's experts are divided by their sum [norm_topk_prob]
    dense: tuple[int, ...] = ()  # layers with one MLP instead [mlp_only_layers, decoder_sparse_step]


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
    norm_around: bool = False  # norms ahead of both and behind both, Gemma
    unit_offset: bool = False  # norms multiply with 1 + their weight, Gemma
    scaled_embedding: bool = False  # the embedding is multiplied with sqrt(width), Gemma
    query_scalar: int | None = None  # scores are divided by its square root, Gemma [query_pre_attn_scalar]
    attention_cap: float | None = None  # c: scores become c tanh(score / c) [attn_logit_softcapping]
    logit_cap: float | None = None  # logits likewise [final_logit_softcapping]
    embedding_scale: float = 1.0  # Granite, as the next three
    residual_scale: float = 1.0  # of what attention and MLP add
    attention_scale: float | None = None  # of scores; None: 1 / sqrt(head_width)
    logit_divisor: float = 1.0
    norm: Literal["rms", "layer"] = "rms"
    activation: Literal["silu_gated", "gelu_tanh_gated", "gelu_tanh"] = "silu_gated"
    window: SlidingWindow | None = None
    experts: ExpertsConfig | None = None
    dropout: float = 0.0  # in training only

    def __post_init__(self) -> None:
        """ModelError where sizes are not positive or contradict one another."""
        _check(self)

    @property
    def group(self) -> int:
        """Query heads that share one key/value head."""
        return self.heads // self.kv_heads

    @property
    def score_scale(self) -> float:
        """What the product of a query and a key is multiplied with."""
        if self.attention_scale is not None:
            return self.attention_scale
        return float((self.head_width if self.query_scalar is None else self.query_scalar) ** -0.5)

    @property
    def stretched(self) -> bool:
        """Whether sequences can be longer than the first context of LongRoPE, which turns them by other factors."""
        scaling = self.rotary_scaling
        return scaling is not None and scaling.kind == "longrope" and self.context > scaling.original_context

    def window_of(self, layer: int) -> int | None:
        """How many positions a token of this layer sees; None: all before it."""
        windowed = self.window is not None and self.window.size < self.context and layer not in self.window.full
        return self.window.size if windowed and self.window is not None else None

    def routed(self, layer: int) -> bool:
        """Whether this layer's MLP is a mixture of experts."""
        return self.experts is not None and layer not in self.experts.dense

    def parameters(self, *, embedding: bool = True, experts: int | None = None) -> int:
        """Number of weights; without the embedding it is what a token's matrix products cost.

        `experts`: of each mixture count only so many; without the embedding, those that a token is sent to.
        """
        qkv = self.width * (self.heads + 2 * self.kv_heads) * self.head_width
        output = self.heads * self.head_width * self.width
        tables = self.vocabulary * self.width * (1 if self.tied else 2)
        if self.rotary_base is None:
            tables += self.context * self.width
        head = self.vocabulary * self.width
        return self.layers * (qkv + output) + self._mlps(embedding, experts) + (tables if embedding else head)

    def _mlps(self, every: bool, experts: int | None) -> int:
        """Weights of all layers' MLPs; of a mixture those of `experts`, else of every one or of a token's."""
        dense = self.width * self.hidden * (2 if self.activation == "gelu_tanh" else 3)
        if self.experts is None:
            return self.layers * dense
        counted = experts or (self.experts.count if every else self.experts.per_token)
        routed = self.width * (3 * self.experts.hidden * counted + self.experts.count)
        return len(self.experts.dense) * dense + (self.layers - len(self.experts.dense)) * routed


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
    scaling = config.rotary_scaling
    if scaling is not None and scaling.kind == "longrope":
        for name, factors in (("short_factor", scaling.short_factors), ("long_factor", scaling.long_factors)):
            if len(factors) != config.head_width // 2 or min(factors, default=0.0) <= 0:
                raise ModelError(
                    f"rotary_scaling [{name}] has {len(factors)} numbers: {config.head_width // 2} above 0 are needed"
                )
    if config.logit_divisor == 0:
        raise ModelError("logit_divisor [logits_scaling] is 0: logits are divided by it")
    _check_gemma(config)
    if config.experts is not None:
        _check_experts(config.experts, config.layers)
    if config.norm_eps < 0:
        raise ModelError(f"norm_eps {config.norm_eps} is below 0")
    if not 0 <= config.dropout < 1:
        raise ModelError(f"dropout {config.dropout} is not in [0, 1)")
    if config.family == "gpt2" and config.heads * config.head_width != config.width:
        raise ModelError(f"width {config.width} is not heads {config.heads} times head_width {config.head_width}")


def _check_gemma(config: DecoderConfig) -> None:
    for name, theirs in (("attention_cap", "attn_logit_softcapping"), ("logit_cap", "final_logit_softcapping")):
        cap = getattr(config, name)
        if cap is not None and cap <= 0:
            raise ModelError(f"{name} {cap} [{theirs}] is not above 0")
    if config.query_scalar is not None and config.query_scalar < 1:
        raise ModelError(f"query_scalar {config.query_scalar} [query_pre_attn_scalar] is not above 0")
    if config.window is not None and config.window.size < 1:
        raise ModelError(f"window.size {config.window.size} [sliding_window] is not above 0")
    base = None if config.window is None else config.window.rotary_base
    if base is not None and base <= 0:
        raise ModelError(f"window.rotary_base {base} [rope_local_base_freq] is not above 0")


def _check_experts(experts: ExpertsConfig, layers: int) -> None:
    for name in ("count", "per_token", "hidden"):
        if getattr(experts, name) < 1:
            raise ModelError(f"experts.{name} is {getattr(experts, name)}: at least 1 is needed")
    if experts.per_token > experts.count:
        raise ModelError(
            f"experts.per_token {experts.per_token} [num_experts_per_tok] is above experts.count {experts.count}"
        )
    if any(not 0 <= layer < layers for layer in experts.dense):
        raise ModelError(f"experts.dense {experts.dense} [mlp_only_layers] names a layer beyond the {layers}")
