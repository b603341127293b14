"""What config.json says of single layers: which have a sliding window, and which a mixture of experts."""

from __future__ import annotations

from typing import Any

from gridstride.models.config import DecoderConfig, ExpertsConfig, SlidingWindow
from gridstride.models.families import FamilyFacts
from gridstride.models.huggingface.fields import Fields
from gridstride.models.huggingface.hf_rotary import window_base

_LAYERS_AT_MOST = 1 << 16
_FULL, _WINDOWED = "full_attention", "sliding_attention"
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_intermediate_size")


def window(fields: Fields, facts: FamilyFacts) -> SlidingWindow | None:
    """The windows of the family's layers; None where no layer has one."""
    kinds = _layer_types(fields, facts)
    if facts.full_every is None:
        return None
    if facts.full_every == 0:
        has_window = fields.values.get("sliding_window") is not None
        return SlidingWindow(size=fields.integer("sliding_window")) if has_window else None
    layers = _layers(fields)
    if kinds is None:
        every = fields.integer("sliding_window_pattern", facts.full_every)
        full = tuple(range(every - 1, layers, every))
    else:
        full = tuple(number for number, kind in enumerate(kinds) if kind == _FULL)
    if len(full) == layers:
        return None
    return SlidingWindow(size=fields.integer("sliding_window"), full=full, rotary_base=window_base(fields, facts))


def experts(fields: Fields, facts: FamilyFacts) -> ExpertsConfig | None:
    """The family's mixtures of experts; ModelError where a family has none and the fields say otherwise."""
    if facts.experts is None:
        for name in _EXPERTS:
            if fields.values.get(name):
                raise fields.wrong(name, "mixtures of experts are supported in Mixtral and Qwen3-MoE alone")
        return None
    count, per_token = _count(fields, facts.experts.count), fields.integer("num_experts_per_tok")
    if per_token > count:
        raise fields.wrong("num_experts_per_tok", f"there are {count} experts")
    normed = facts.experts.normed
    return ExpertsConfig(
        count=count,
        per_token=per_token,
        hidden=fields.integer(facts.experts.hidden),
        normed=fields.flag("norm_topk_prob", False) if normed is None else normed,
        dense=_dense(fields),
    )


def _count(fields: Fields, names: tuple[str, ...]) -> int:
    """How many experts, by any of these names; transformers 5 writes another than 4 did."""
    present = [name for name in names if fields.values.get(name) is not None]
    count = fields.integer((*present, names[0])[0])
    for name in present:
        if fields.integer(name) != count:
            raise fields.wrong(name, f"{present[0]} is {count}")
    return count


def _dense(fields: Fields) -> tuple[int, ...]:
    """Layers with one MLP: those that are named, and all but every `decoder_sparse_step`-th."""
    named, layers = fields.values.get("mlp_only_layers") or [], _layers(fields)
    if not isinstance(named, list) or any(type(layer) is not int or not 0 <= layer < layers for layer in named):
        raise fields.wrong("mlp_only_layers", f"a list of layers from 0 to {layers - 1} is needed")
    step = fields.integer("decoder_sparse_step", 1)
    return tuple(number for number in range(layers) if number in named or (number + 1) % step)


def _layer_types(fields: Fields, facts: FamilyFacts) -> list[str] | None:
    """Of each layer, None where nothing is said; ModelError for those that the family does not have."""
    kinds = fields.values.get("layer_types")
    if not kinds:
        return None
    supported = (_FULL, _WINDOWED) if facts.full_every else (_FULL,)
    if not isinstance(kinds, list) or any(kind not in supported for kind in kinds):
        raise fields.wrong("layer_types", f"only {' and '.join(supported)} are supported in {facts.architecture}")
    if facts.full_every and len(kinds) != _layers(fields):
        raise fields.wrong("layer_types", f"one for each of {_layers(fields)} layers is needed, not {len(kinds)}")
    return kinds


def _layers(fields: Fields) -> int:
    """How many there are, where something is kept for each."""
    layers = fields.integer("num_hidden_layers")
    if layers > _LAYERS_AT_MOST:
        raise fields.wrong("num_hidden_layers", f"at most {_LAYERS_AT_MOST} can be")
    return layers


def to_window(config: DecoderConfig, facts: FamilyFacts) -> dict[str, Any]:
    """The fields of config.json for the decoder's windows."""
    if facts.full_every is None:
        return {}
    size = None if config.window is None else config.window.size
    if facts.full_every == 0:
        return {"sliding_window": size}
    full = range(config.layers) if config.window is None else config.window.full
    kinds = [_FULL if number in full else _WINDOWED for number in range(config.layers)]
    values: dict[str, Any] = {"sliding_window": size or config.context, "layer_types": kinds}
    if facts.window_base is not None:
        base = None if config.window is None else config.window.rotary_base
        values["rope_local_base_freq"] = facts.window_base if base is None else base
    return values


def to_experts(config: DecoderConfig, facts: FamilyFacts) -> dict[str, Any]:
    """The fields of config.json for the decoder's mixtures of experts."""
    mixture = config.experts
    if facts.experts is None or mixture is None:
        return {}
    values: dict[str, Any] = {
        facts.experts.count[0]: mixture.count,
        facts.experts.hidden: mixture.hidden,
        "num_experts_per_tok": mixture.per_token,
    }
    if facts.experts.normed is None:
        values |= {"norm_topk_prob": mixture.normed, "mlp_only_layers": list(mixture.dense), "decoder_sparse_step": 1}
    return values
