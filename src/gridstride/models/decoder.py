"""The decoder: one definition for training, generating and serving.

Leading axes are free: training gives tokens as [B, T], an engine gives the tokens of all its sequences in one row [N].
What happens between queries and cached keys is the caller's: `attend` gets a layer's q, k and v and gives what the
heads saw, so that the same model runs on plain causal attention and on a paged cache.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from gridstride.models import ops, rotary
from gridstride.models.config import DecoderConfig

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""(layer, q [..., H, D], k [..., K, D], v [..., K, D]) -> [..., H, D]"""


def causal(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Attention of whole sequences [B, T, heads, D] that start at position 0."""
    return ops.causal_attention(q, k, v)


def packed(segments: Tensor) -> Attend:
    """Attention of rows in which several sequences stand side by side: [B, T] says whose each token is.

    Each sees its own alone, as if the others were not there; positions have to begin anew with each.
    """
    same = segments.unsqueeze(-1) == segments.unsqueeze(-2)
    seen = same.tril().unsqueeze(1)

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return ops.causal_attention(q, k, v, seen)

    return attend


class RMSNorm(nn.Module):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return ops.rms_norm(x, self.weight, self.eps)


class LayerNorm(RMSNorm):
    def __init__(self, width: int, eps: float) -> None:
        super().__init__(width, eps)
        self.bias = nn.Parameter(torch.zeros(width))

    def forward(self, x: Tensor) -> Tensor:
        return ops.layer_norm(x, self.weight, self.bias, self.eps)


class Attention(nn.Module):
    def __init__(self, config: DecoderConfig, layer: int) -> None:
        super().__init__()
        self.layer, self.head_width = layer, config.head_width
        query, key = config.heads * config.head_width, config.kv_heads * config.head_width
        self.q_proj = nn.Linear(config.width, query, bias=config.qkv_bias)
        self.k_proj = nn.Linear(config.width, key, bias=config.qkv_bias)
        self.v_proj = nn.Linear(config.width, key, bias=config.qkv_bias)
        self.o_proj = nn.Linear(query, config.width, bias=config.output_bias)
        normed = config.head_norm or config.joint_norm
        widths = (query, key) if config.joint_norm else (config.head_width, config.head_width)
        self.q_norm = RMSNorm(widths[0], config.norm_eps) if normed else None
        self.k_norm = RMSNorm(widths[1], config.norm_eps) if normed else None
        self.joint_norm = config.joint_norm
        usual = config.head_width**-0.5  # what `attend` multiplies scores with
        self.scale = 1.0 if config.attention_scale is None else config.attention_scale / usual

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor] | None, attend: Attend) -> Tensor:
        q, k, v = self.q_proj(x), self.k_proj(x), self.v_proj(x)
        if self.joint_norm:
            q, k = self._normed(q, k)
        q, k, v = (each.unflatten(-1, (-1, self.head_width)) for each in (q, k, v))
        if not self.joint_norm:
            q, k = self._normed(q, k)
        if turn is not None:
            q, k = ops.rotary(q, *turn), ops.rotary(k, *turn)
        if self.scale != 1.0:
            q = q * self.scale
        return self.o_proj(attend(self.layer, q, k, v).flatten(-2))

    def _normed(self, q: Tensor, k: Tensor) -> tuple[Tensor, Tensor]:
        if self.q_norm is None or self.k_norm is None:
            return q, k
        return self.q_norm(q), self.k_norm(k)


class GatedMLP(nn.Module):
    """down(silu(gate(x)) * up(x)), as Llama and Qwen have it."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(config.width, config.hidden, bias=config.mlp_bias)
        self.up_proj = nn.Linear(config.width, config.hidden, bias=config.mlp_bias)
        self.down_proj = nn.Linear(config.hidden, config.width, bias=config.mlp_bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(ops.silu_mul(self.gate_proj(x), self.up_proj(x)))


class MLP(nn.Module):
    """down(gelu(up(x))), as GPT-2 has it."""

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.up_proj = nn.Linear(config.width, config.hidden, bias=config.mlp_bias)
        self.down_proj = nn.Linear(config.hidden, config.width, bias=config.mlp_bias)

    def forward(self, x: Tensor) -> Tensor:
        return self.down_proj(ops.gelu_tanh(self.up_proj(x)))


class Layer(nn.Module):
    """x + attention(norm(x)), then x + mlp(norm(x)); with `norm_after` x + norm(attention(x)), x + norm(mlp(x))."""

    def __init__(self, config: DecoderConfig, layer: int) -> None:
        super().__init__()
        norm = RMSNorm if config.norm == "rms" else LayerNorm
        self.input_layernorm = norm(config.width, config.norm_eps)
        self.self_attn = Attention(config, layer)
        self.post_attention_layernorm = norm(config.width, config.norm_eps)
        self.mlp: nn.Module = GatedMLP(config) if config.activation == "silu_gated" else MLP(config)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_after, self.residual_scale = config.norm_after, config.residual_scale

    def forward(self, x: Tensor, turn: tuple[Tensor, Tensor] | None, attend: Attend) -> Tensor:
        if self.norm_after:
            x = x + self._added(self.input_layernorm(self.self_attn(x, turn, attend)))
            return x + self._added(self.post_attention_layernorm(self.mlp(x)))
        x = x + self._added(self.self_attn(self.input_layernorm(x), turn, attend))
        return x + self._added(self.mlp(self.post_attention_layernorm(x)))

    def _added(self, x: Tensor) -> Tensor:
        x = self.dropout(x)
        return x if self.residual_scale == 1.0 else x * self.residual_scale


class Decoder(nn.Module):
    """Tokens to hidden states; `logits` takes the rows that are wanted of them."""

    cos: Tensor
    sin: Tensor

    def __init__(self, config: DecoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocabulary, config.width)
        self.embed_positions = nn.Embedding(config.context, config.width) if config.rotary_base is None else None
        self.layers = nn.ModuleList(Layer(config, i) for i in range(config.layers))
        self.norm = (RMSNorm if config.norm == "rms" else LayerNorm)(config.width, config.norm_eps)
        self.lm_head = nn.Linear(config.width, config.vocabulary, bias=False)
        if config.tied:
            self.lm_head.weight = self.embed_tokens.weight
        if config.rotary_base is not None:
            cos, sin = rotary.tables(config)
            self.register_buffer("cos", cos, persistent=False)
            self.register_buffer("sin", sin, persistent=False)

    def forward(self, tokens: Tensor, positions: Tensor | None = None, attend: Attend = causal) -> Tensor:
        """Hidden states [..., width] of tokens [...]; positions count from 0 along the last axis where not given."""
        if positions is None:
            positions = torch.arange(tokens.shape[-1], device=tokens.device).expand(tokens.shape)
        x = self.embed_tokens(tokens)
        if self.config.embedding_scale != 1.0:
            x = x * self.config.embedding_scale
        turn = None
        if self.embed_positions is not None:
            x = x + self.embed_positions(positions)
        else:
            turn = self.cos[positions], self.sin[positions]
        for layer in self.layers:
            x = layer(x, turn, attend)
        return self.norm(x)

    def logits(self, hidden: Tensor) -> Tensor:
        """Logits [..., vocabulary] of hidden states [..., width]."""
        logits: Tensor = self.lm_head(hidden)
        return logits if self.config.logit_divisor == 1.0 else logits / self.config.logit_divisor
