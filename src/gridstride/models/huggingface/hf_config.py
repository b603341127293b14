"""Hugging Face's config.json to a DecoderConfig and back; what we cannot compute is refused by name and value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gridstride.models.config import DecoderConfig, Family
from gridstride.models.errors import ModelError
from gridstride.models.families import FAMILIES, FamilyFacts
from gridstride.models.huggingface.fields import Fields, shown
from gridstride.models.huggingface.hf_gpt2 import gpt2, to_gpt2
from gridstride.models.huggingface.hf_layers import experts, to_experts, to_window, window
from gridstride.models.huggingface.hf_rotary import rotary, to_scaling

_CONTEXT_AT_MOST = 1 << 24  # positions; the tables of cosines for them have gigabytes
_ACTIVATIONS = {
    "silu_gated": ("hidden_act", "silu", "swish"),
    "gelu_tanh_gated": ("hidden_activation", "gelu_pytorch_tanh"),
}
_CAPS = ("attn_logit_softcapping", "final_logit_softcapping")


def from_hf(values: Mapping[str, Any], where: str = "config.json") -> DecoderConfig:
    """The decoder that a config.json means, with the defaults of its own family in `transformers`."""
    fields = Fields(values, where)
    family = _family(fields)
    _refuse_unknown_parts(fields)
    try:
        config = gpt2(fields) if family == "gpt2" else _llama_like(fields, family)
    except ModelError as error:
        if str(error).startswith(where):
            raise
        raise ModelError(f"{where}: {error}") from error
    if config.context > _CONTEXT_AT_MOST:
        raise ModelError(f"{where}: a context of {config.context} positions; at most {_CONTEXT_AT_MOST} can be")
    return config


def to_hf(config: DecoderConfig) -> dict[str, Any]:
    """The config.json of a decoder, as transformers 4 and 5 read it; ModelError where its family has no such shape."""
    values = to_gpt2(config) if config.family == "gpt2" else _to_llama_like(config)
    again = from_hf(values)
    if config.family != "gpt2":  # these know no dropout beside the attention's
        config = replace(config, dropout=0.0)
    different = [n for n in DecoderConfig.__slots__ if getattr(again, n) != getattr(config, n)]
    if different:
        differences = ", ".join(f"{n} = {getattr(config, n)!r}" for n in different)
        raise ModelError(f"Hugging Face's {config.family} configuration cannot say {differences}")
    return values


def _family(fields: Fields) -> Family:
    supported = ", ".join(facts.architecture for facts in FAMILIES.values())
    names = fields.values.get("architectures")
    if names:
        for family, facts in FAMILIES.items():
            if names == [facts.architecture]:
                return family
        raise fields.wrong("architectures", f"supported are {supported}")
    kind = fields.values.get("model_type")
    for family in FAMILIES:
        if family == kind:
            return family
    raise ModelError(f"{fields.where}: neither architectures nor model_type ({shown(kind)}) names one of {supported}")


def _refuse_unknown_parts(fields: Fields) -> None:
    values = fields.values
    if values.get("quantization_config"):
        raise fields.wrong("quantization_config", "quantised weights are not supported; take the model's plain folder")
    if values.get("use_sliding_window"):
        raise fields.wrong("use_sliding_window", "windows of some layers are supported in Gemma 2 and Gemma 3 alone")
    if values.get("use_bidirectional_attention"):
        raise fields.wrong("use_bidirectional_attention", "only decoders that look back are supported")


def _llama_like(fields: Fields, family: Family) -> DecoderConfig:
    heads, width = fields.integer("num_attention_heads"), fields.integer("hidden_size")
    facts, context = FAMILIES[family], fields.integer("max_position_embeddings")
    _check_activation(fields, facts)
    base, scaling = rotary(fields, facts)
    return DecoderConfig(
        family=family,
        vocabulary=fields.integer("vocab_size"),
        width=width,
        layers=fields.integer("num_hidden_layers"),
        heads=heads,
        kv_heads=fields.integer("num_key_value_heads", heads),
        head_width=_head_width(fields, family, width, heads),
        hidden=fields.integer("intermediate_size"),
        context=context,
        norm_eps=fields.number("rms_norm_eps", facts.norm_eps),
        rotary_base=base,
        rotary_scaling=scaling,
        tied=fields.flag("tie_word_embeddings", facts.tied),
        window=window(fields, facts),
        experts=experts(fields, facts),
        **_own(fields, facts),
        **facts.switches,
    )


def _own(fields: Fields, facts: FamilyFacts) -> dict[str, Any]:
    """What the family's own fields decide."""
    own: dict[str, Any] = {name: fields.flag(key, False) for key, names in facts.flags.items() for name in names}
    own |= {name: fields.number(key, default) for key, (name, default) in facts.numbers.items()}
    own |= {name: _cap(fields, key, default) for key, (name, default) in facts.caps.items()}
    if facts.query_scalar is not None:
        own["query_scalar"] = fields.integer("query_pre_attn_scalar", facts.query_scalar)
    return own


def _check_activation(fields: Fields, facts: FamilyFacts) -> None:
    name, *supported = _ACTIVATIONS[facts.switches.get("activation", "silu_gated")]
    if fields.word(name, supported[0]) not in supported:
        raise fields.wrong(name, f"only {supported[0]} is supported")
    for cap in _CAPS:
        if fields.values.get(cap) and cap not in facts.caps:
            raise fields.wrong(cap, f"{facts.architecture} has no such cap")


def _cap(fields: Fields, name: str, default: float | None) -> float | None:
    if (name in fields.values and fields.values[name] is None) or (name not in fields.values and default is None):
        return None
    return fields.number(name, default)


def _head_width(fields: Fields, family: Family, width: int, heads: int) -> int:
    if fields.values.get("head_dim") is not None:
        return fields.integer("head_dim")
    if (usual := FAMILIES[family].head_width) is not None:
        return usual
    if width % heads:
        raise fields.wrong("hidden_size", f"no multiple of num_attention_heads {heads}, and there is no head_dim")
    return width // heads


def _to_llama_like(config: DecoderConfig) -> dict[str, Any]:
    facts = FAMILIES[config.family]
    activation = _ACTIVATIONS[facts.switches.get("activation", "silu_gated")]
    return {
        "architectures": [facts.architecture],
        "model_type": config.family,
        "vocab_size": config.vocabulary,
        "hidden_size": config.width,
        "num_hidden_layers": config.layers,
        "num_attention_heads": config.heads,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_width,
        "intermediate_size": config.hidden,
        "max_position_embeddings": config.context,
        activation[0]: activation[1],
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rotary_base,
        "rope_scaling": None if config.rotary_scaling is None else to_scaling(config.rotary_scaling),
        "attention_bias": config.qkv_bias,
        "mlp_bias": config.mlp_bias,
        "tie_word_embeddings": config.tied,
        "use_sliding_window": False,
        **to_window(config, facts),
        **_to_original(config),
        **to_experts(config, facts),
        **({} if facts.query_scalar is None else {"query_pre_attn_scalar": config.query_scalar}),
        **{key: getattr(config, name) for key, (name, _) in (*facts.numbers.items(), *facts.caps.items())},
    }


def _to_original(config: DecoderConfig) -> dict[str, Any]:
    """Phi-3 has the first context beside its scaling, and believes that place alone."""
    scaling = config.rotary_scaling
    longrope = scaling is not None and scaling.kind == "longrope"
    return {"original_max_position_embeddings": scaling.original_context} if scaling is not None and longrope else {}
