"""Hugging Face's config.json to a DecoderConfig and back; what we cannot compute is refused by name and value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gridstride.models.config import DecoderConfig, Family, RotaryScaling
from gridstride.models.errors import ModelError
from gridstride.models.families import FAMILIES
from gridstride.models.fields import Fields, shown
from gridstride.models.rotary import yarn_attention

_CONTEXT_AT_MOST = 1 << 24  # positions; the tables of cosines for them have gigabytes
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_intermediate_size")


def from_hf(values: Mapping[str, Any], where: str = "config.json") -> DecoderConfig:
    """The decoder that a config.json means, with the defaults of its own family in `transformers`."""
    fields = Fields(values, where)
    family = _family(fields)
    _refuse_unknown_parts(fields)
    try:
        config = _gpt2(fields) if family == "gpt2" else _llama_like(fields, family)
    except ModelError as error:
        if str(error).startswith(where):
            raise
        raise ModelError(f"{where}: {error}") from error
    if config.context > _CONTEXT_AT_MOST:
        raise ModelError(f"{where}: a context of {config.context} positions; at most {_CONTEXT_AT_MOST} can be")
    return config


def to_hf(config: DecoderConfig) -> dict[str, Any]:
    """The config.json of a decoder, as transformers 4 and 5 read it; ModelError where its family has no such shape."""
    values = _to_gpt2(config) if config.family == "gpt2" else _to_llama_like(config)
    again = from_hf(values)
    if config.family != "gpt2":  # these know no dropout beside the attention's
        config = replace(config, dropout=0.0)
    different = [n for n in DecoderConfig.__slots__ if getattr(again, n) != getattr(config, n)]
    if different:
        told = ", ".join(f"{n} = {getattr(config, n)!r}" for n in different)
        raise ModelError(f"Hugging Face's {config.family} configuration cannot say {told}")
    return values


def _family(fields: Fields) -> Family:
    known = ", ".join(facts.architecture for facts in FAMILIES.values())
    names = fields.values.get("architectures")
    if names:
        for family, facts in FAMILIES.items():
            if names == [facts.architecture]:
                return family
        raise fields.wrong("architectures", f"supported are {known}")
    kind = fields.values.get("model_type")
    for family in FAMILIES:
        if family == kind:
            return family
    raise ModelError(f"{fields.where}: neither architectures nor model_type ({shown(kind)}) names one of {known}")


def _refuse_unknown_parts(fields: Fields) -> None:
    values = fields.values
    for name in _EXPERTS:
        if values.get(name):
            raise fields.wrong(name, "mixtures of experts are not supported")
    if values.get("quantization_config"):
        raise fields.wrong("quantization_config", "quantised weights are not supported; take the model's plain folder")
    if values.get("use_sliding_window"):
        raise fields.wrong("use_sliding_window", "attention within a sliding window is not supported")
    kinds = values.get("layer_types") or []
    if not isinstance(kinds, list) or any(kind != "full_attention" for kind in kinds):
        raise fields.wrong("layer_types", "only full_attention is supported")


def _llama_like(fields: Fields, family: Family) -> DecoderConfig:
    heads, width = fields.integer("num_attention_heads"), fields.integer("hidden_size")
    if fields.word("hidden_act", "silu") not in ("silu", "swish"):
        raise fields.wrong("hidden_act", "only silu is supported")
    facts, context = FAMILIES[family], fields.integer("max_position_embeddings")
    base, scaling = _rotary(fields)
    if scaling is not None and scaling.kind == "yarn" and family == "phi3":  # what it calls so is its own longrope
        raise fields.wrong("rope_scaling", "supported are default, linear, llama3")
    if facts.windowed and fields.values.get("sliding_window") is not None:
        context = min(context, fields.integer("sliding_window"))  # up to there every token sees all before it
    own: dict[str, Any] = {name: fields.flag(said, False) for said, names in facts.flags.items() for name in names}
    own |= {name: fields.number(said, default) for said, (name, default) in facts.numbers.items()}
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
        tied=fields.flag("tie_word_embeddings", False),
        **own,
        **facts.switches,
    )


def _head_width(fields: Fields, family: Family, width: int, heads: int) -> int:
    if fields.values.get("head_dim") is not None:
        return fields.integer("head_dim")
    if (usual := FAMILIES[family].head_width) is not None:
        return usual
    if width % heads:
        raise fields.wrong("hidden_size", f"no multiple of num_attention_heads {heads}, and there is no head_dim")
    return width // heads


def _rotary(fields: Fields) -> tuple[float, RotaryScaling | None]:
    """Base and scaling, from transformers 5's rope_parameters or the older rope_theta and rope_scaling."""
    rope = fields.object("rope_parameters") or fields.object("rope_scaling")
    for each in (fields, *([rope] if rope else [])):
        if each.number("partial_rotary_factor", 1.0) != 1.0:
            raise each.wrong("partial_rotary_factor", "only whole heads can be turned")
    base = fields.number("rope_theta", 10_000.0)
    if rope is None:
        return base, None
    inner = rope.number("rope_theta", base)
    if fields.values.get("rope_theta") is not None and inner != base:
        raise rope.wrong("rope_theta", f"beside it rope_theta is {base}")
    for name, value in rope.values.items():
        if isinstance(value, dict):
            raise rope.wrong(name, "positions of their own for some layers are not supported")
    kind = rope.word("rope_type", rope.word("type", "default"))
    if kind == "default":
        return inner, None
    if kind == "dynamic":  # it changes positions beyond the context alone
        _factor(rope)
        return inner, None
    if kind == "yarn":
        return inner, _yarn(rope, fields.integer("max_position_embeddings"))
    if kind == "linear":
        return inner, RotaryScaling(kind="linear", factor=_factor(rope))
    if kind == "llama3":
        return inner, _llama3(rope, fields.integer("max_position_embeddings"))
    raise rope.wrong(
        "rope_type" if "rope_type" in rope.values else "type", "supported are default, linear, dynamic, llama3, yarn"
    )


def _factor(rope: Fields) -> float:
    factor = rope.number("factor")
    if factor < 1:
        raise rope.wrong("factor", "at least 1 is needed")
    return factor


def _llama3(rope: Fields, context: int) -> RotaryScaling:
    low, high = rope.number("low_freq_factor"), rope.number("high_freq_factor")
    if not 0 < low < high:
        raise rope.wrong("low_freq_factor", f"it must be above 0 and below high_freq_factor {high}")
    original = rope.integer("original_max_position_embeddings", context)
    return RotaryScaling(
        kind="llama3",
        factor=_factor(rope),
        low_freq_factor=low,
        high_freq_factor=high,
        original_context=original,
    )


def _yarn(rope: Fields, context: int) -> RotaryScaling:
    for name in ("mscale", "mscale_all_dim"):
        if rope.values.get(name):
            raise rope.wrong(name, "only attention_factor is supported")
    if rope.flag("truncate", True) is not True:
        raise rope.wrong("truncate", "only true is supported")
    factor, fast, slow = _factor(rope), rope.number("beta_fast", 32.0), rope.number("beta_slow", 1.0)
    if not 0 < slow < fast:
        raise rope.wrong("beta_slow", f"it must be above 0 and below beta_fast {fast}")
    return RotaryScaling(
        kind="yarn",
        factor=factor,
        original_context=rope.integer("original_max_position_embeddings", context),
        beta_fast=fast,
        beta_slow=slow,
        attention_factor=rope.number("attention_factor", yarn_attention(factor)),
    )


def _gpt2(fields: Fields) -> DecoderConfig:
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
        tied=fields.flag("tie_word_embeddings", True),
        **FAMILIES["gpt2"].switches,
        dropout=fields.number("resid_pdrop", 0.1),
    )


def _to_llama_like(config: DecoderConfig) -> dict[str, Any]:
    facts = FAMILIES[config.family]
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
        "hidden_act": "silu",
        "rms_norm_eps": config.norm_eps,
        "rope_theta": config.rotary_base,
        "rope_scaling": None if config.rotary_scaling is None else _to_scaling(config.rotary_scaling),
        "attention_bias": config.qkv_bias,
        "mlp_bias": config.mlp_bias,
        "tie_word_embeddings": config.tied,
        "use_sliding_window": False,
        **({"sliding_window": None} if facts.windowed else {}),
        **{said: getattr(config, name) for said, (name, _) in facts.numbers.items()},
    }


def _to_scaling(scaling: RotaryScaling) -> dict[str, Any]:
    values: dict[str, Any] = {"rope_type": scaling.kind, "factor": scaling.factor}
    if scaling.kind == "llama3":
        values["low_freq_factor"] = scaling.low_freq_factor
        values["high_freq_factor"] = scaling.high_freq_factor
        values["original_max_position_embeddings"] = scaling.original_context
    if scaling.kind == "yarn":
        values["beta_fast"], values["beta_slow"] = scaling.beta_fast, scaling.beta_slow
        values["attention_factor"] = scaling.attention_factor
        values["original_max_position_embeddings"] = scaling.original_context
    return values


def _to_gpt2(config: DecoderConfig) -> dict[str, Any]:
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
