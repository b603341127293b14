"""The families of decoders, a row each: what their config.json decides, and how their checkpoints name the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gridstride.models.config import Family

Naming = Literal["plain", "fused", "norms after", "conv1d", "experts", "block sparse"]
"""plain: Llama's names, which are ours. fused: queries, keys and values in one matrix, gate and up in another. norms
after: Llama's, and norms named by what they stand behind. conv1d: GPT-2's own, stored transposed. experts: Llama's, and
one matrix for each expert. block sparse: as experts, with Mixtral's own names for the mixture.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertFields:
    """The fields of config.json that say how many experts there are (any of them), and how wide each is.

    `normed`: the shares of a token's experts are divided by their sum; None: `norm_topk_prob` says so.
    """

    count: tuple[str, ...]
    hidden: str
    normed: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyFacts:
    """`switches` are fields of a DecoderConfig that are always so; `flags`, `numbers` and `caps` are those which a
    field of config.json decides, by that field's name, numbers and caps with their default; null is no cap.

    `full_every`: None where no token's view is limited; 0 where `sliding_window` limits it in all layers; n where every
    n-th layer has no such limit, if `layer_types` does not say. The rest is what holds where config.json says nothing;
    `head_width` None: width / heads; `query_scalar` and `window_base` None: there is no such field. `longrope_names`:
    what the family calls the scaling `longrope` beside that.
    """

    architecture: str
    naming: Naming
    switches: Mapping[str, Any]
    flags: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, tuple[str, float]]
    caps: Mapping[str, tuple[str, float | None]]
    experts: ExpertFields | None
    full_every: int | None
    head_width: int | None
    query_scalar: int | None
    norm_eps: float
    tied: bool
    rotary_base: float
    window_base: float | None
    longrope_names: tuple[str, ...]


_GRANITE = {
    "embedding_multiplier": ("embedding_scale", 1.0),
    "residual_multiplier": ("residual_scale", 1.0),
    "attention_multiplier": ("attention_scale", 1.0),
    "logits_scaling": ("logit_divisor", 1.0),
}
_GPT2 = {
    "qkv_bias": True, "output_bias": True, "mlp_bias": True, "norm": "layer", "activation": "gelu_tanh",
    "rotary_base": None,
}  # fmt: skip
_GEMMA = {
    "activation": "gelu_tanh_gated", "norm_around": True, "unit_offset": True, "scaled_embedding": True,
}  # fmt: skip
_BIASES = {"attention_bias": ("qkv_bias", "output_bias")}
_ALL_BIASES = {**_BIASES, "mlp_bias": ("mlp_bias",)}
_MIXTRAL = ExpertFields(count=("num_local_experts",), hidden="intermediate_size", normed=True)
_QWEN3_MOE = ExpertFields(count=("num_experts", "num_local_experts"), hidden="moe_intermediate_size", normed=None)

FAMILIES: dict[Family, FamilyFacts] = {
    "llama": FamilyFacts(
        architecture="LlamaForCausalLM", naming="plain", switches={}, flags=_ALL_BIASES, numbers={}, caps={},
        experts=None, full_every=None, head_width=None, query_scalar=None, norm_eps=1e-6, tied=False, rotary_base=1e4,
        window_base=None, longrope_names=(),
    ),
    "qwen2": FamilyFacts(
        architecture="Qwen2ForCausalLM", naming="plain", switches={"qkv_bias": True}, flags={}, numbers={}, caps={},
        experts=None, full_every=None, head_width=None, query_scalar=None, norm_eps=1e-6, tied=False, rotary_base=1e4,
        window_base=None, longrope_names=(),
    ),
    "qwen3": FamilyFacts(
        architecture="Qwen3ForCausalLM", naming="plain", switches={"head_norm": True}, flags=_BIASES, numbers={},
        caps={}, experts=None, full_every=None, head_width=128, query_scalar=None, norm_eps=1e-6, tied=False,
        rotary_base=1e4, window_base=None, longrope_names=(),
    ),
    "mistral": FamilyFacts(
        architecture="MistralForCausalLM", naming="plain", switches={}, flags={}, numbers={}, caps={}, experts=None,
        full_every=0, head_width=None, query_scalar=None, norm_eps=1e-6, tied=False, rotary_base=1e4,
        window_base=None, longrope_names=(),
    ),
    "granite": FamilyFacts(
        architecture="GraniteForCausalLM", naming="plain", switches={}, flags=_ALL_BIASES, numbers=_GRANITE, caps={},
        experts=None, full_every=None, head_width=None, query_scalar=None, norm_eps=1e-6, tied=False, rotary_base=1e4,
        window_base=None, longrope_names=(),
    ),
    "olmo2": FamilyFacts(
        architecture="Olmo2ForCausalLM", naming="norms after", switches={"norm_after": True, "joint_norm": True},
        flags=_BIASES, numbers={}, caps={}, experts=None, full_every=None, head_width=None, query_scalar=None,
        norm_eps=1e-5, tied=False, rotary_base=1e4, window_base=None, longrope_names=(),
    ),
    "phi3": FamilyFacts(
        architecture="Phi3ForCausalLM", naming="fused", switches={}, flags={}, numbers={}, caps={}, experts=None,
        full_every=0, head_width=None, query_scalar=None, norm_eps=1e-5, tied=False, rotary_base=1e4,
        window_base=None, longrope_names=("su", "yarn"),
    ),
    "gpt2": FamilyFacts(
        architecture="GPT2LMHeadModel", naming="conv1d", switches=_GPT2, flags={}, numbers={}, caps={}, experts=None,
        full_every=None, head_width=None, query_scalar=None, norm_eps=1e-5, tied=True, rotary_base=1e4,
        window_base=None, longrope_names=(),
    ),
    "mixtral": FamilyFacts(
        architecture="MixtralForCausalLM", naming="block sparse", switches={}, flags={}, numbers={}, caps={},
        experts=_MIXTRAL, full_every=0, head_width=None, query_scalar=None, norm_eps=1e-5, tied=False, rotary_base=1e6,
        window_base=None, longrope_names=(),
    ),
    "qwen3_moe": FamilyFacts(
        architecture="Qwen3MoeForCausalLM", naming="experts", switches={"head_norm": True}, flags=_BIASES, numbers={},
        caps={}, experts=_QWEN3_MOE, full_every=None, head_width=None, query_scalar=None, norm_eps=1e-6, tied=False,
        rotary_base=1e4, window_base=None, longrope_names=(),
    ),
    "gemma2": FamilyFacts(
        architecture="Gemma2ForCausalLM", naming="plain", switches=_GEMMA, flags=_BIASES, numbers={},
        caps={"attn_logit_softcapping": ("attention_cap", 50.0), "final_logit_softcapping": ("logit_cap", 30.0)},
        experts=None, full_every=2, head_width=256, query_scalar=256, norm_eps=1e-6, tied=True, rotary_base=1e4,
        window_base=None, longrope_names=(),
    ),
    "gemma3_text": FamilyFacts(
        architecture="Gemma3ForCausalLM", naming="plain", switches={**_GEMMA, "head_norm": True}, flags=_BIASES,
        numbers={}, caps={"final_logit_softcapping": ("logit_cap", None)}, experts=None, full_every=6, head_width=256,
        query_scalar=256, norm_eps=1e-6, tied=True, rotary_base=1e6, window_base=1e4, longrope_names=(),
    ),
}  # fmt: skip
if set(FAMILIES) != set(get_args(Family)):
    raise ImportError("models/families.py needs one row for each Family of models/config.py")
