"""The decoder: one definition for training, generating and serving.

Leading axes are free: training gives tokens as [B, T], an engine gives the tokens of all its sequences in one row [N].
What happens between queries and cached keys is the caller's: `attend` gets a layer's q, k and v and gives what the
heads saw, so that the same model runs on plain causal attention and on a paged cache.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from gridstride.models import ops, rotary
from gridstride.models.config import DecoderConfig
from gridstride.models.experts import MixtureOfExperts
from gridstride.models.norms import norm_class


@dataclass(frozen=True, slots=True)
class LayerAttention:
    """Which layer's attention, to how many of the last positions it is limited, and what its scores are capped at."""

    layer: int
    window: int | None = None
    cap: float | None = None


class Attend(Protocol):
    def __call__(self, which: LayerAttention, q: Tensor, k: Tensor, v: Tensor, /) -> Tensor:
        """q [..., H, D], k [..., K, D], v [..., K, D] -> [..., H, D]"""


def causal(which: LayerAttention, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention of whole sequences [B, T, heads, D] that start at position 0."""
    return ops.causal_attention(q, k, v, window=which.window, cap=which.cap)


def packed(segments: Tensor) -> Attend:
    """Attention of rows in which several sequences stand side by side: [B, T] says whose each token is.

    Each sees its own alone, as if the others were not there; positions have to begin anew with each.
    """
    same = segments.unsqueeze(-1) == segments.unsqueeze(-2)
    mask = same.tril().unsqueeze(1)

    def attend(which: LayerAttention, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return ops.causal_attention(q, k, v, mask, window=which.window, cap=which.cap)

    return attend


class Attention(nn.Module):
    def __init__(self, config: DecoderConfig, layer: int) -> None:
        super().__init__()
        self.which = LayerAttention(layer, config.window_of(layer), config.attention_cap)
        self.head_width = config.head_width
        query, key = config.heads * config.head_width, config.kv_heads * config.head_width
        self.q_proj = nn.Linear(config.width, query, bias=config.qkv_bias)
        self.k_proj = nn.Linear(config.width, key, bias=config.qkv_bias)
        self.v_proj = nn.Linear(config.width, key, bias=config.qkv_bias)
        self.o_proj = nn.Linear(query, config.width, bias=config.output_bias)
        normed = config.head_norm or config.joint_norm
        widths = (query, key) if config.joint_norm else (config.head_width, config.head_width)
        norm = norm_class(config)
        self.q_norm = norm(widths[0], config.norm_eps) if normed else None
        self.k_norm = norm(widths[1], config.norm_eps) if normed else None
        self.joint_norm = config.joint_norm
        self.scale = config.score_scale / config.head_width**-0.5  # `attend` multiplies scores with the latter

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor] | None, attend: Attend) -> Tensor:
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        if self.joint_norm:
            q, k = self._normed(q, k)
        q, k, v = (projected.unflatten(-1, (-1, self.head_width)) for projected in (q, k, v))
        if not self.joint_norm:
            q, k = self._normed(q, k)
        if turn is not None:
            q, k = ops.rotary(q, *turn), ops.rotary(k, *turn)
        if self.scale != 1.0:
            q = q * self.scale
        return self.o_proj(attend(self.which, q, k, v).flatten(-2))

    def _normed(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        if self.q_norm is None or self.k_norm is None:
            return q, k
        return self.q_norm(q), self.k_norm(k)


class GatedMLP(nn.Module):
    """down(act(gate(x)) * up(x)): silu, as Llama and Qwen have it, or Gemma's gelu."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.width, config.hidden, bias=config.mlp_bias)
        self.up_proj = nn.Linear(config.width, config.hidden, bias=config.mlp_bias)
        self.down_proj = nn.Linear(config.hidden, config.width, bias=config.mlp_bias)
        self.multiply = ops.silu_mul if config.activation == "silu_gated" else ops.gelu_tanh_mul

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(self.multiply(self.gate_proj(x), self.up_proj(x)))


class MLP(nn.Module):
    """down(gelu(up(x))), as GPT-2 has it."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.up_proj = nn.Linear(config.width, config.hidden, bias=config.mlp_bias)
        self.down_proj = nn.Linear(config.hidden, config.width, bias=config.mlp_bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(ops.gelu_tanh(self.up_proj(x)))


def _mlp(config: DecoderConfig, layer: int) -> nn.Module:
    if config.routed(layer):
        return MixtureOfExperts(config)
    return MLP(config) if config.activation == "gelu_tanh" else GatedMLP(config)


class Layer(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)).

    With `norm_after` x + norm(attention(x)), x + norm(mlp(x)); with `norm_around` norms stand at both places.
    """

    def __init__(self, config: DecoderConfig, layer: int) -> None:
        super().__init__()
        norm = norm_class(config)
        self.input_layernorm = norm(config.width, config.norm_eps)
        self.self_attn = Attention(config, layer)
        self.post_attention_layernorm = norm(config.width, config.norm_eps)
        if config.norm_around:
            self.pre_feedforward_layernorm = norm(config.width, config.norm_eps)
            self.post_feedforward_layernorm = norm(config.width, config.norm_eps)
        self.mlp = _mlp(config, layer)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_after, self.norm_around = config.norm_after, config.norm_around
        self.residual_scale = config.residual_scale

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor] | None, attend: Attend) -> Tensor:
        if self.norm_after:
            x = x + self._added(self.input_layernorm(self.self_attn(x, turn, attend)))
            return x + self._added(self.post_attention_layernorm(self.mlp(x)))
        attended = self.self_attn(self.input_layernorm(x), turn, attend)
        if self.norm_around:
            x = x + self._added(self.post_attention_layernorm(attended))
            return x + self._added(self.post_feedforward_layernorm(self.mlp(self.pre_feedforward_layernorm(x))))
        x = x + self._added(attended)
        return x + self._added(self.mlp(self.post_attention_layernorm(x)))

    def _added(self, x: Tensor) -> Tensor:
        x = self.dropout(x)
        return x if self.residual_scale == 1.0 else x * self.residual_scale


class Decoder(nn.Module):
    """Tokens to hidden states; `logits` takes the rows that are wanted of them."""

    cos: Tensor
    sin: Tensor
    window_cos: Tensor  # of layers with a window, where these have a base of their own
    window_sin: Tensor
    long_cos: Tensor  # of sequences beyond LongRoPE's first context
    long_sin: Tensor
    always_long = False
    """Whether LongRoPE's factors of long sequences hold for short ones, too: keys in a cache are turned once."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocabulary, config.width)
        self.embed_positions = nn.Embedding(config.context, config.width) if config.rotary_base is None else None
        self.layers = nn.ModuleList(Layer(config, i) for i in range(config.layers))
        self.norm = norm_class(config)(config.width, config.norm_eps)
        self.lm_head = nn.Linear(config.width, config.vocabulary, bias=False)
        if config.tied:
            self.lm_head.weight = self.embed_tokens.weight
        self.fill_tables()

    def fill_tables(self, device: torch.device | str | None = None) -> None:
        """Compute the tables of rotary positions, which no checkpoint has."""
        for prefix, table in rotary.tables(self.config).items():
            for name, values in zip(("cos", "sin"), table, strict=True):
                self.register_buffer(prefix + name, values.to(device), persistent=False)

    def forward(self, tokens: Tensor, positions: Tensor | None = None, attend: Attend = causal) -> Tensor:
        """Hidden states [..., width] of tokens [...]; positions count from 0 along the last axis where not given."""
        if positions is None:
            positions = torch.arange(tokens.shape[-1], device=tokens.device).expand(tokens.shape)
        x = self._embedded(tokens)
        turn = turn_in_window = None
        if self.embed_positions is not None:
            x = x + self.embed_positions(positions)
        else:
            cos, sin = self.tables(long=self.config.stretched and (self.always_long or self._beyond(positions)))
            turn = turn_in_window = cos[positions], sin[positions]
        window = self.config.window
        if window is not None and window.rotary_base is not None:
            turn_in_window = self.window_cos[positions], self.window_sin[positions]
        for number, layer in enumerate(self.layers):
            full = window is None or number in window.full
            x = layer(x, turn if full else turn_in_window, attend)
        return self.norm(x)

    def tables(self, *, long: bool) -> tuple[Tensor, Tensor]:
        """Cosines and sines [context, head_width / 2], of long sequences or of others."""
        return (self.long_cos, self.long_sin) if long else (self.cos, self.sin)

    def _beyond(self, positions: Tensor) -> bool:
        """As transformers decides: one long sequence of a batch is enough."""
        assert self.config.rotary_scaling is not None
        return int(positions.max()) >= self.config.rotary_scaling.original_context

    def _embedded(self, tokens: Tensor) -> Tensor:
        x: Tensor = self.embed_tokens(tokens)
        if self.config.scaled_embedding:
            return x * _rounded(self.config.width**0.5, x.dtype)
        return x if self.config.embedding_scale == 1.0 else x * self.config.embedding_scale

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits [..., vocabulary] of hidden states [..., width]."""
        logits: Tensor = self.lm_head(hidden)
        if self.config.logit_cap is not None:
            logits = self.config.logit_cap * torch.tanh(logits / self.config.logit_cap)
        return logits if self.config.logit_divisor == 1.0 else logits / self.config.logit_divisor


def _rounded(value: float, dtype: torch.dtype) -> float:
    """The value as this type has it: Gemma was trained with a factor in the embedding's own type."""
    fraction, exponent = math.frexp(value)
    step = torch.finfo(dtype).eps / 2  # between numbers of [1/2, 1)
    return math.ldexp(round(fraction / step) * step, exponent)
