"""GPT-2's config.json, whose fields have names of their own."""

from __future__ import annotations

from typing import Any

from gridstride.models.config import DecoderConfig
from gridstride.models.families import FAMILIES
from gridstride.models.huggingface.fields import Fields, shown
from gridstride.models.huggingface.hf_layers import experts, window


def gpt2(fields: Fields) -> DecoderConfig:
    """The decoder that GPT-2's fields mean."""
    width, heads = fields.integer("n_embd"), fields.integer("n_head")
    if width % heads:
        raise fields.wrong("n_embd", f"it is not a multiple of n_head {heads}")
    if fields.word("activation_function", "gelu_new") not in ("gelu_new", "gelu_pytorch_tanh"):
        raise fields.wrong("activation_function", "only gelu_new is supported")
    for name, needed in (("scale_attn_weights", True), ("scale_attn_by_inverse_layer_idx", False)):
        if fields.flag(name, needed) is not needed:
            raise fields.wrong(name, f"only {shown(needed)} is supported")
    if fields.flag("add_cross_attention", False):
        raise fields.wrong("add_cross_attention", "only decoders without an encoder are supported")
    return DecoderConfig(
        family="gpt2",
        vocabulary=fields.integer("vocab_size"),
        width=width,
        layers=fields.integer("n_layer"),
        heads=heads,
        kv_heads=heads,
        head_width=width // heads,
        hidden=fields.integer("n_inner", 4 * width),
        context=fields.integer("n_positions"),
        norm_eps=fields.number("layer_norm_epsilon", FAMILIES["gpt2"].norm_eps),
        tied=fields.flag("tie_word_embeddings", FAMILIES["gpt2"].tied),
        window=window(fields, FAMILIES["gpt2"]),
        experts=experts(fields, FAMILIES["gpt2"]),
        **FAMILIES["gpt2"].switches,
        dropout=fields.number("resid_pdrop", 0.1),
    )


def to_gpt2(config: DecoderConfig) -> dict[str, Any]:
    """GPT-2's fields of such a decoder."""
    return {
        "architectures": [FAMILIES["gpt2"].architecture],
        "model_type": "gpt2",
        "vocab_size": config.vocabulary,
        "n_embd": config.width,
        "n_layer": config.layers,
        "n_head": config.heads,
        "n_inner": config.hidden,
        "n_positions": config.context,
        "activation_function": "gelu_new",
        "layer_norm_epsilon": config.norm_eps,
        "tie_word_embeddings": config.tied,
        "resid_pdrop": config.dropout,
        "embd_pdrop": config.dropout,
        "attn_pdrop": 0.0,
    }
