"""Rotary positions in config.json: transformers 5's rope_parameters, or the older rope_theta and rope_scaling."""

from __future__ import annotations

from typing import Any

from gridstride.models.config import RotaryScaling
from gridstride.models.families import FamilyFacts
from gridstride.models.huggingface.fields import Fields
from gridstride.models.rotary import longrope_attention, yarn_attention

_FULL, _WINDOWED = "full_attention", "sliding_attention"
_KINDS = "supported are default, linear, dynamic, llama3, yarn, longrope"


def rotary(fields: Fields, facts: FamilyFacts) -> tuple[float, RotaryScaling | None]:
    """Base and scaling, in a family whose layers differ those of layers without a window."""
    rope = fields.object("rope_parameters") or fields.object("rope_scaling")
    if rope is not None and facts.window_base is not None and {_FULL, _WINDOWED} & rope.values.keys():
        rope = rope.object(_FULL)
    for table in (fields, *([rope] if rope else [])):
        if table.number("partial_rotary_factor", 1.0) != 1.0:
            raise table.wrong("partial_rotary_factor", "only whole heads can be turned")
    base = fields.number("rope_theta", facts.rotary_base)
    if rope is None:
        return base, None
    inner = rope.number("rope_theta", base)
    if fields.values.get("rope_theta") is not None and inner != base:
        raise rope.wrong("rope_theta", f"beside it rope_theta is {base}")
    for name, value in rope.values.items():
        if isinstance(value, dict):
            raise rope.wrong(name, "positions of their own for some layers are not supported")
    return inner, _scaling(rope, fields, longrope=("longrope", *facts.longrope_names))


def window_base(fields: Fields, facts: FamilyFacts) -> float | None:
    """The base of layers that have a window, where the family gives them one of their own."""
    if facts.window_base is None:
        return None
    rope = fields.object("rope_parameters")
    inner = None if rope is None else rope.object(_WINDOWED)
    if inner is None:
        return fields.number("rope_local_base_freq", facts.window_base)
    if inner.word("rope_type", "default") != "default":
        raise inner.wrong("rope_type", "only default is supported in layers with a window")
    return inner.number("rope_theta", facts.window_base)


def _scaling(rope: Fields, fields: Fields, *, longrope: tuple[str, ...]) -> RotaryScaling | None:
    context, kind = fields.integer("max_position_embeddings"), rope.word("rope_type", rope.word("type", "default"))
    if kind == "default":
        return None
    if kind == "dynamic":  # it changes positions beyond the context alone
        _factor(rope)
        return None
    if kind in longrope:
        return _longrope(rope, fields, context)
    if kind == "yarn":
        return _yarn(rope, context)
    if kind == "linear":
        return RotaryScaling(kind="linear", factor=_factor(rope))
    if kind == "llama3":
        return _llama3(rope, context)
    raise rope.wrong("rope_type" if "rope_type" in rope.values else "type", _KINDS)


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


def _longrope(rope: Fields, fields: Fields, context: int) -> RotaryScaling:
    inner = rope.integer("original_max_position_embeddings", context)
    original = fields.integer("original_max_position_embeddings", inner)
    if original < 2:
        raise fields.wrong("original_max_position_embeddings", "at least 2 is needed")
    factor = rope.number("factor", context / original)
    return RotaryScaling(
        kind="longrope",
        factor=factor,
        original_context=original,
        attention_factor=rope.number("attention_factor", longrope_attention(factor, original)),
        short_factors=rope.numbers("short_factor"),
        long_factors=rope.numbers("long_factor"),
    )


def to_scaling(scaling: RotaryScaling) -> dict[str, Any]:
    """The older rope_scaling, which transformers 5 reads too."""
    values: dict[str, Any] = {"rope_type": scaling.kind, "factor": scaling.factor}
    if scaling.kind == "llama3":
        values["low_freq_factor"] = scaling.low_freq_factor
        values["high_freq_factor"] = scaling.high_freq_factor
        values["original_max_position_embeddings"] = scaling.original_context
    if scaling.kind == "yarn":
        values["beta_fast"], values["beta_slow"] = scaling.beta_fast, scaling.beta_slow
        values["attention_factor"] = scaling.attention_factor
        values["original_max_position_embeddings"] = scaling.original_context
    if scaling.kind == "longrope":
        values["short_factor"], values["long_factor"] = list(scaling.short_factors), list(scaling.long_factors)
        values["attention_factor"] = scaling.attention_factor
        values["original_max_position_embeddings"] = scaling.original_context
    return values
