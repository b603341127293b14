"""A decoder on the project's own kernels: fewer and larger matrices, and a paged cache that the kernels write.

Works for CPU tensors too, where each op is PyTorch's own: so the path is tested without a GPU.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from gridstride.kernels.rms_norm.op import add_rms_norm, rms_norm
from gridstride.kernels.rotary_cache.op import rotary_cache
from gridstride.models.config import DecoderConfig
from gridstride.models.decoder import Decoder
from gridstride.serve.runner.cuda.linear import gated_linear, linear

Look = Callable[[Tensor, Tensor, Tensor], Tensor]
"""(q [N, H, D], keys and values of one layer [blocks, K, block_size, D]) -> [N, H, D]"""


@dataclass(frozen=True, slots=True)
class FusedLayer:
    """One layer's weights: queries, keys and values in one matrix, gate and up in another."""

    input_norm: Tensor
    qkv: Tensor
    qkv_bias: Tensor | None
    q_norm: Tensor | None
    k_norm: Tensor | None
    output: Tensor
    output_bias: Tensor | None
    mlp_norm: Tensor
    gate_up: Tensor
    gate_up_bias: Tensor | None
    down: Tensor
    down_bias: Tensor | None


_HEADS = {torch.float32: (64, 128), torch.bfloat16: (64, 128, 256), torch.float16: (64, 128, 256)}
"""Widths that paged_attention and rotary_cache are written for: 32 lanes or a part of them read a row by 16 bytes."""
_MOST_SHARED = 2560
"""Numbers of all heads that share keys, which paged_attention keeps in 48 KiB of shared memory, once for each warp."""


def unsupported(config: DecoderConfig, dtype: torch.dtype) -> str:
    """Why a decoder of this shape cannot run here; empty where it can."""
    if config.norm != "rms" or config.activation != "silu_gated" or config.rotary_base is None:
        return f"family {config.family}: the kernels are for RMS norms, rotary positions and layers gated by silu"
    scales = config.embedding_scale, config.residual_scale, config.logit_divisor, config.scaled_embedding
    scores = config.attention_scale, config.query_scalar, config.attention_cap, config.logit_cap
    norms = config.norm_after, config.norm_around, config.joint_norm, config.unit_offset
    if any(norms) or scores != (None,) * 4 or scales != (1.0, 1.0, 1.0, False):
        return f"family {config.family}: the kernels know norms ahead of a layer and of heads, and no scales or caps"
    if config.experts is not None:
        return f"family {config.family}: the kernels are for one MLP in a layer, not for mixtures of experts"
    if config.window is not None and config.window.size < config.context:
        return (
            f"sliding_window {config.window.size}: the kernels look at all positions; --max-model-len "
            f"{config.window.size} ends the context with the window"
        )
    if dtype not in _HEADS:
        return f"{dtype}: the kernels are for {', '.join(map(str, _HEADS))}"
    if config.head_width not in _HEADS[dtype]:
        return f"head_width {config.head_width}: the kernels are for {_HEADS[dtype]} in {dtype}"
    if config.heads // config.kv_heads * config.head_width > _MOST_SHARED:
        return f"{config.heads // config.kv_heads} heads of {config.head_width} share keys: {_MOST_SHARED} numbers fit"
    return ""


class FusedDecoder:
    """The decoder's own parameters become parts of the fused ones, so that memory holds every weight once."""

    def __init__(self, decoder: Decoder) -> None:
        reason = unsupported(decoder.config, decoder.embed_tokens.weight.dtype)
        if reason:
            raise ValueError(reason)
        self.config = decoder.config
        self.embedding, self.head = decoder.embed_tokens.weight.detach(), decoder.lm_head.weight.detach()
        self.norm = decoder.norm.weight.detach()
        self.cosine, self.sine = (table.float().contiguous() for table in decoder.tables(long=self.config.stretched))
        self.layers = [_fused(layer) for layer in decoder.layers]

    @property
    def plain(self) -> bool:
        """Whether there are no biases and no head norms."""
        first = self.layers[0]
        extra = first.qkv_bias, first.q_norm, first.output_bias, first.gate_up_bias, first.down_bias
        return all(option is None for option in extra)

    def hidden(
        self, tokens: Tensor, positions: Tensor, slots: Tensor, cache: tuple[Tensor, Tensor], look: Look
    ) -> Tensor:
        """Normed hidden states [N, width] of tokens [N]; cache: keys and values [layers, blocks, K, block_size, D]."""
        # The embedding begins when all in front has ended. Nothing behind it writes weights, positions or slots, so the
        # kernels may read them as early as they like.
        eps = self.config.norm_eps
        x = F.embedding(tokens, self.embedding)
        normed = rms_norm(x, self.layers[0].input_norm, eps, fixed_weights=True)
        for i, layer in enumerate(self.layers):
            keys, values = cache[0][i], cache[1][i]
            qkv = linear(normed, layer.qkv, layer.qkv_bias)
            q = rotary_cache(
                qkv, self.cosine, self.sine, layer.q_norm, layer.k_norm, positions, slots, keys, values, eps,
                fixed_tables=True,
            )  # fmt: skip
            attended = look(q, keys, values).flatten(1)
            mixed = linear(attended, layer.output, layer.output_bias)
            normed = add_rms_norm(x, mixed, layer.mlp_norm, eps, fixed_weights=True)
            middle = gated_linear(normed, layer.gate_up, layer.gate_up_bias)
            down = linear(middle, layer.down, layer.down_bias)
            following = self.layers[i + 1].input_norm if i + 1 < len(self.layers) else self.norm
            normed = add_rms_norm(x, down, following, eps, fixed_weights=True)
        return normed

    def logits(self, hidden: Tensor, *, out: Tensor | None = None) -> Tensor:
        """Logits [M, vocabulary] of hidden states [M, width]."""
        return torch.mm(hidden, self.head.T, out=out)


def _fused(layer: nn.Module) -> FusedLayer:
    attention, mlp = layer.self_attn, layer.mlp
    qkv = (attention.q_proj, attention.k_proj, attention.v_proj)
    gate_up = (mlp.gate_proj, mlp.up_proj)
    return FusedLayer(
        layer.input_layernorm.weight.detach(),
        _joined([p.weight for p in qkv]),
        _joined([p.bias for p in qkv]) if attention.q_proj.bias is not None else None,
        attention.q_norm.weight.detach() if attention.q_norm is not None else None,
        attention.k_norm.weight.detach() if attention.k_norm is not None else None,
        attention.o_proj.weight.detach(),
        _own(attention.o_proj.bias),
        layer.post_attention_layernorm.weight.detach(),
        _joined([p.weight for p in gate_up]),
        _joined([p.bias for p in gate_up]) if mlp.gate_proj.bias is not None else None,
        mlp.down_proj.weight.detach(),
        _own(mlp.down_proj.bias),
    )


def _own(parameter: Tensor | None) -> Tensor | None:
    return None if parameter is None else parameter.detach()


def _joined(parameters: list[nn.Parameter]) -> Tensor:
    """One tensor of them all, row by row; they become views of it."""
    joined = torch.cat([p.detach() for p in parameters])
    for parameter, part in zip(parameters, joined.split([len(p) for p in parameters]), strict=True):
        parameter.data = part
    return joined
