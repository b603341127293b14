"""The families of decoders, a row each: what their config.json decides, and how their checkpoints name the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from gridstride.models.config import Family

Naming = Literal["plain", "fused", "norms after", "conv1d"]
"""plain: Llama's names, which are ours. fused: queries, keys and values in one matrix, gate and up in another. norms
after: Llama's, and norms named by what they stand behind. conv1d: GPT-2's own, stored transposed.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyFacts:
    """`switches` are fields of a DecoderConfig that are always so; `flags` and `numbers` are those which a field of
    config.json decides, by that field's name, numbers with their default. `windowed`: each token sees `sliding_window`
    tokens where that is given, without another field that says so. `head_width` and `norm_eps` hold where they are not
    given; None: width / heads.
    """

    architecture: str
    naming: Naming
    switches: Mapping[str, Any]
    flags: Mapping[str, tuple[str, ...]]
    numbers: Mapping[str, tuple[str, float]]
    windowed: bool
    head_width: int | None
    norm_eps: float


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
_BIASES = {"attention_bias": ("qkv_bias", "output_bias")}
_ALL_BIASES = {**_BIASES, "mlp_bias": ("mlp_bias",)}

FAMILIES: dict[Family, FamilyFacts] = {
    "llama": FamilyFacts(
        architecture="LlamaForCausalLM", naming="plain", switches={}, flags=_ALL_BIASES, numbers={}, windowed=False,
        head_width=None, norm_eps=1e-6,
    ),
    "qwen2": FamilyFacts(
        architecture="Qwen2ForCausalLM", naming="plain", switches={"qkv_bias": True}, flags={}, numbers={},
        windowed=False, head_width=None, norm_eps=1e-6,
    ),
    "qwen3": FamilyFacts(
        architecture="Qwen3ForCausalLM", naming="plain", switches={"head_norm": True}, flags=_BIASES, numbers={},
        windowed=False, head_width=128, norm_eps=1e-6,
    ),
    "mistral": FamilyFacts(
        architecture="MistralForCausalLM", naming="plain", switches={}, flags={}, numbers={}, windowed=True,
        head_width=None, norm_eps=1e-6,
    ),
    "granite": FamilyFacts(
        architecture="GraniteForCausalLM", naming="plain", switches={}, flags=_ALL_BIASES, numbers=_GRANITE,
        windowed=False, head_width=None, norm_eps=1e-6,
    ),
    "olmo2": FamilyFacts(
        architecture="Olmo2ForCausalLM", naming="norms after", switches={"norm_after": True, "joint_norm": True},
        flags=_BIASES, numbers={}, windowed=False, head_width=None, norm_eps=1e-5,
    ),
    "phi3": FamilyFacts(
        architecture="Phi3ForCausalLM", naming="fused", switches={}, flags={}, numbers={}, windowed=True,
        head_width=None, norm_eps=1e-5,
    ),
    "gpt2": FamilyFacts(
        architecture="GPT2LMHeadModel", naming="conv1d", switches=_GPT2, flags={}, numbers={}, windowed=False,
        head_width=None, norm_eps=1e-5,
    ),
}  # fmt: skip
if set(FAMILIES) != set(get_args(Family)):
    raise ImportError("models/families.py needs one row for each Family of models/config.py")
