"""config.json: what it means, what it may leave out, and what is refused by name and value."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest
import transformers
from hypothesis import given, settings
from hypothesis import strategies as st

from gridstride.models.config import DecoderConfig, ExpertsConfig, RotaryScaling, SlidingWindow
from gridstride.models.errors import ModelError
from gridstride.models.huggingface.hf_config import from_hf, to_hf

from ..families import SMALL, SMALL_GPT2

LLAMA: dict[str, Any] = {"architectures": ["LlamaForCausalLM"], **SMALL}
QWEN2 = LLAMA | {"architectures": ["Qwen2ForCausalLM"]}
QWEN3 = LLAMA | {"architectures": ["Qwen3ForCausalLM"]}
PHI3 = LLAMA | {"architectures": ["Phi3ForCausalLM"]}
GRANITE = LLAMA | {"architectures": ["GraniteForCausalLM"]}
MISTRAL = LLAMA | {"architectures": ["MistralForCausalLM"]}
MIXTRAL = LLAMA | {"architectures": ["MixtralForCausalLM"], "num_local_experts": 5, "num_experts_per_tok": 2}
QWEN3_MOE = LLAMA | {
    "architectures": ["Qwen3MoeForCausalLM"], "num_experts": 6, "num_experts_per_tok": 3, "moe_intermediate_size": 20,
}  # fmt: skip
GEMMA2 = LLAMA | {"architectures": ["Gemma2ForCausalLM"], "sliding_window": 24}
GEMMA3 = LLAMA | {"architectures": ["Gemma3ForCausalLM"], "sliding_window": 24}
GPT2: dict[str, Any] = {"architectures": ["GPT2LMHeadModel"], **SMALL_GPT2}
LONGROPE = {"type": "longrope", "short_factor": [1.0, 1.0, 1.5, 2.0], "long_factor": [1, 2, 3, 4]}
FIRST = {"original_max_position_embeddings": 16}
LLAMA3 = {
    "factor": 8,
    "low_freq_factor": 1,
    "high_freq_factor": 4,
    "original_max_position_embeddings": 32,
}


def test_sizes_are_read() -> None:
    config = from_hf(LLAMA)
    assert (config.vocabulary, config.width, config.layers, config.hidden, config.context) == (61, 32, 2, 48, 64)
    assert (config.heads, config.kv_heads, config.head_width) == (4, 2, 8)


def test_an_absent_head_dim_follows_from_the_width_but_in_qwen3() -> None:
    assert [from_hf(values).head_width for values in (LLAMA, QWEN2, QWEN3)] == [8, 8, 128]


def test_absent_key_heads_are_as_many_as_heads() -> None:
    assert from_hf(LLAMA | {"num_key_value_heads": None}).kv_heads == 4


def test_each_family_ties_and_biases_as_its_own_default() -> None:
    told = [(c.tied, c.qkv_bias, c.output_bias, c.head_norm) for c in map(from_hf, (LLAMA, QWEN2, QWEN3, GPT2))]
    assert told == [(False,) * 4, (False, True, False, False), (False, False, False, True), (True, True, True, False)]


def test_the_family_is_known_without_architectures_too() -> None:
    assert from_hf(SMALL_GPT2 | {"model_type": "gpt2"}).family == "gpt2"


@pytest.mark.parametrize("kind", ["type", "rope_type"])
def test_linear_scaling_in_the_older_form(kind: str) -> None:
    config = from_hf(LLAMA | {"rope_theta": 5e5, "rope_scaling": {kind: "linear", "factor": 2}})
    assert config.rotary_base == 5e5
    assert config.rotary_scaling == RotaryScaling(kind="linear", factor=2)


def test_both_forms_of_llama_3_scaling_mean_the_same() -> None:
    older = from_hf(LLAMA | {"rope_theta": 5e5, "rope_scaling": {"rope_type": "llama3", **LLAMA3}})
    newer = from_hf(LLAMA | {"rope_parameters": {"rope_type": "llama3", "rope_theta": 5e5, **LLAMA3}})
    assert older == newer
    assert older.rotary_scaling == RotaryScaling(kind="llama3", factor=8, original_context=32)


def test_a_window_limits_all_layers_of_the_families_that_have_one_always() -> None:
    for base in (MISTRAL, PHI3, MIXTRAL):
        said: list[Any] = [{}, {"sliding_window": None}, {"sliding_window": 24}, {"sliding_window": 100}]
        found = [from_hf(base | each) for each in said]
        assert [config.window_of(1) for config in found] == [None, None, 24, None]
        assert {config.context for config in found} == {64}
    assert from_hf(QWEN2 | {"sliding_window": 24}).window is None  # with use_sliding_window alone


def windows(values: dict[str, Any]) -> list[int | None]:
    config = from_hf(values)
    return [config.window_of(layer) for layer in range(config.layers)]


def test_gemma_has_a_window_in_some_layers() -> None:
    kinds = ["full_attention", "sliding_attention"]
    assert windows(GEMMA2 | {"num_hidden_layers": 5}) == [24, None, 24, None, 24]
    assert windows(GEMMA3 | {"num_hidden_layers": 7}) == [24, 24, 24, 24, 24, None, 24]
    assert windows(GEMMA3 | {"num_hidden_layers": 3, "sliding_window_pattern": 2}) == [24, None, 24]
    for base in (GEMMA2, GEMMA3):
        assert windows(base | {"layer_types": kinds}) == [None, 24]
        assert from_hf(base | {"layer_types": ["full_attention"] * 2}).window is None


def test_gemma_is_tied_and_capped_where_nothing_else_is_said() -> None:
    found = [(c.tied, c.attention_cap, c.logit_cap, c.head_width) for c in map(from_hf, (GEMMA2, GEMMA3))]
    assert found == [(True, 50.0, 30.0, 256), (True, None, None, 256)]
    assert from_hf(GEMMA2 | {"attn_logit_softcapping": None, "final_logit_softcapping": None}).logit_cap is None


def test_both_forms_of_gemma_3s_two_bases_mean_the_same() -> None:
    older = from_hf(
        GEMMA3 | {"rope_theta": 5e5, "rope_local_base_freq": 5e3, "rope_scaling": {"rope_type": "linear", "factor": 8}}
    )
    full = {"rope_type": "linear", "rope_theta": 5e5, "factor": 8}
    windowed = {"rope_type": "default", "rope_theta": 5e3}
    newer = from_hf(GEMMA3 | {"rope_parameters": {"full_attention": full, "sliding_attention": windowed}})
    assert older == newer
    usual = from_hf(GEMMA3)
    bases = [(each.rotary_base, each.window.rotary_base) for each in (older, usual) if each.window is not None]
    assert bases == [(5e5, 5e3), (1e6, 1e4)]


HUB: dict[str, tuple[dict[str, Any], float, float]] = {
    "mixtral-8x7b": ({
        "architectures": ["MixtralForCausalLM"], "hidden_act": "silu", "hidden_size": 4096, "intermediate_size": 14336,
        "max_position_embeddings": 32768, "num_attention_heads": 32, "num_experts_per_tok": 2, "num_hidden_layers": 32,
        "num_key_value_heads": 8, "num_local_experts": 8, "output_router_logits": False, "rms_norm_eps": 1e-5,
        "rope_theta": 1e6, "router_aux_loss_coef": 0.02, "sliding_window": None, "vocab_size": 32000,
    }, 46.7e9, 12.7e9),
    "qwen3-30b-a3b": ({
        "architectures": ["Qwen3MoeForCausalLM"], "attention_bias": False, "decoder_sparse_step": 1, "head_dim": 128,
        "hidden_act": "silu", "hidden_size": 2048, "intermediate_size": 6144, "max_position_embeddings": 40960,
        "max_window_layers": 48, "mlp_only_layers": [], "moe_intermediate_size": 768, "norm_topk_prob": True,
        "num_attention_heads": 32, "num_experts": 128, "num_experts_per_tok": 8, "num_hidden_layers": 48,
        "num_key_value_heads": 4, "rms_norm_eps": 1e-6, "rope_scaling": None, "rope_theta": 1e6,
        "sliding_window": None, "tie_word_embeddings": False, "use_sliding_window": False, "vocab_size": 151936,
    }, 30.5e9, 3.0e9),
    "gemma-2-2b": ({
        "architectures": ["Gemma2ForCausalLM"], "attention_bias": False, "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0, "head_dim": 256, "hidden_act": "gelu_pytorch_tanh",
        "hidden_activation": "gelu_pytorch_tanh", "hidden_size": 2304, "intermediate_size": 9216,
        "max_position_embeddings": 8192, "num_attention_heads": 8, "num_hidden_layers": 26, "num_key_value_heads": 4,
        "query_pre_attn_scalar": 256, "rms_norm_eps": 1e-6, "rope_theta": 1e4, "sliding_window": 4096,
        "vocab_size": 256000,
    }, 2.61e9, 2.61e9),
    "gemma-3-1b": ({
        "architectures": ["Gemma3ForCausalLM"], "attention_bias": False, "attn_logit_softcapping": None,
        "final_logit_softcapping": None, "head_dim": 256, "hidden_activation": "gelu_pytorch_tanh",
        "hidden_size": 1152, "intermediate_size": 6912, "max_position_embeddings": 32768, "model_type": "gemma3_text",
        "num_attention_heads": 4, "num_hidden_layers": 26, "num_key_value_heads": 1, "query_pre_attn_scalar": 256,
        "rms_norm_eps": 1e-6, "rope_local_base_freq": 10000, "rope_scaling": None, "rope_theta": 1000000,
        "sliding_window": 512, "sliding_window_pattern": 6, "vocab_size": 262144,
    }, 1.0e9, 1.0e9),
}  # fmt: skip
"""Fields as the makers' folders on the Hub have them; all weights, and those that a token is multiplied with."""


@pytest.mark.parametrize(("values", "weights", "active"), HUB.values(), ids=HUB.keys())
def test_configurations_of_the_hub_are_read(values: dict[str, Any], weights: float, active: float) -> None:
    config = from_hf(values)
    assert config.parameters() == pytest.approx(weights, rel=0.01)
    assert config.parameters(embedding=False) == pytest.approx(active, rel=0.02)


def test_experts_are_read() -> None:
    mixtral, qwen = from_hf(MIXTRAL).experts, from_hf(QWEN3_MOE).experts
    assert mixtral == ExpertsConfig(count=5, per_token=2, hidden=48, normed=True)
    assert qwen == ExpertsConfig(count=6, per_token=3, hidden=20, normed=False)
    assert from_hf(QWEN3_MOE | {"num_experts": None, "num_local_experts": 6}).experts == qwen  # transformers 5
    other = {"num_hidden_layers": 6, "decoder_sparse_step": 2, "mlp_only_layers": [3], "norm_topk_prob": True}
    assert from_hf(QWEN3_MOE | other).experts == ExpertsConfig(
        count=6, per_token=3, hidden=20, normed=True, dense=(0, 2, 3, 4)
    )


def test_a_dynamic_scaling_changes_nothing_within_the_context() -> None:
    assert from_hf(LLAMA | {"rope_scaling": {"type": "dynamic", "factor": 2}}) == from_hf(LLAMA)


def test_longrope_is_read_by_all_its_names_and_knows_its_first_context() -> None:
    found = [
        from_hf(PHI3 | {"rope_scaling": LONGROPE | {"type": name}, **FIRST}) for name in ("longrope", "su", "yarn")
    ]
    assert found[0] == found[1] == found[2]
    scaling = found[0].rotary_scaling
    assert scaling is not None
    assert (scaling.kind, scaling.original_context, scaling.factor) == ("longrope", 16, 4.0)
    assert scaling.attention_factor == pytest.approx(math.sqrt(1.5))  # log 4 / log 16
    assert found[0].stretched
    assert not replace(found[0], context=16).stretched
    assert from_hf(to_hf(found[0])) == found[0]


def test_scaling_that_is_none_is_none() -> None:
    assert from_hf(LLAMA | {"rope_scaling": None}).rotary_scaling is None
    assert from_hf(LLAMA | {"rope_parameters": {"rope_type": "default", "rope_theta": 1e4}}).rotary_scaling is None


ALL = (LLAMA, QWEN2, QWEN3, MISTRAL, GPT2, MIXTRAL, QWEN3_MOE, GEMMA2, GEMMA3)
BAD: list[tuple[dict[str, Any], dict[str, Any], str]] = [
    (LLAMA, {"architectures": ["GemmaForCausalLM"]}, "architectures is .*Gemma.*LlamaForCausalLM, Qwen2"),
    (LLAMA, {"architectures": "LlamaForCausalLM"}, "architectures is"),
    (LLAMA, {"architectures": [[]]}, "architectures is"),
    (LLAMA, {"architectures": ["LlamaForCausalLM", "GPT2LMHeadModel"]}, "architectures is"),
    (LLAMA, {"architectures": None, "model_type": "bert"}, 'model_type \\("bert"\\)'),
    (LLAMA, {"vocab_size": None}, "vocab_size is missing"),
    (LLAMA, {"vocab_size": -5}, "vocab_size is -5"),
    (LLAMA, {"vocab_size": "61"}, 'vocab_size is "61": a whole number'),
    (LLAMA, {"vocab_size": True}, "vocab_size is true: a whole number"),
    (LLAMA, {"num_hidden_layers": 0}, "num_hidden_layers is 0"),
    (LLAMA, {"hidden_size": 10**15}, "hidden_size is 10000"),
    (LLAMA, {"hidden_size": 30}, "hidden_size is 30: no multiple of num_attention_heads 4"),
    (LLAMA, {"num_key_value_heads": 3}, "heads 4 .* is not a multiple of kv_heads 3"),
    (LLAMA, {"head_dim": 7}, "head_width 7 .* is odd"),
    (LLAMA, {"max_position_embeddings": 10**9}, "a context of 1000000000"),
    (LLAMA, {"hidden_act": "gelu"}, 'hidden_act is "gelu": only silu'),
    (LLAMA, {"rms_norm_eps": "small"}, "rms_norm_eps is"),
    (LLAMA, {"rms_norm_eps": float("nan")}, "rms_norm_eps is NaN"),
    (LLAMA, {"rms_norm_eps": -1e-6}, "norm_eps -1e-06 is below 0"),
    (LLAMA, {"rope_theta": 0}, "rotary_base 0.0 .* is not above 0"),
    (LLAMA, {"tie_word_embeddings": "yes"}, "tie_word_embeddings is"),
    (LLAMA, {"rope_scaling": "linear"}, "rope_scaling is .*an object"),
    (LLAMA, {"rope_scaling": {"type": "linear"}}, "rope_scaling: factor is missing"),
    (LLAMA, {"rope_scaling": {"type": "linear", "factor": 0.5}}, "factor is 0.5"),
    (LLAMA, {"rope_scaling": {"type": "su", "factor": 2}}, 'type is "su": supported are default, linear'),
    (LLAMA, {"rope_scaling": {"type": "longrope", "factor": 2}}, "short_factor is missing"),
    (PHI3, {"rope_scaling": {"type": "yarn", "factor": 2}}, "short_factor is missing"),
    (PHI3, {"rope_scaling": LONGROPE | {"long_factor": [1, 2, 3]}}, "rotary_scaling .long_factor. has 3 numbers: 4"),
    (PHI3, {"rope_scaling": LONGROPE | {"short_factor": [1, 0, 1, 1]}}, "rotary_scaling .short_factor. has .* above 0"),
    (PHI3, {"rope_scaling": LONGROPE | {"short_factor": 2}}, "short_factor is 2: a list"),
    (PHI3, {"rope_scaling": LONGROPE, "original_max_position_embeddings": 1}, "at least 2"),
    (LLAMA, {"rope_scaling": {"type": "dynamic"}}, "rope_scaling: factor is missing"),
    (LLAMA, {"rope_parameters": {"rope_type": "yarn"}}, "rope_parameters: factor is missing"),
    (LLAMA, {"rope_parameters": {"rope_type": "yarn", "factor": 2, "mscale": 0.7}}, "mscale is 0.7"),
    (LLAMA, {"rope_parameters": {"rope_type": "yarn", "factor": 2, "truncate": False}}, "truncate is false"),
    (LLAMA, {"rope_parameters": {"rope_type": "yarn", "factor": 2, "beta_slow": 40}}, "beta_slow is 40"),
    (PHI3, {"sliding_window": -1}, "sliding_window is -1"),
    (GRANITE, {"logits_scaling": 0}, "logit_divisor .* is 0"),
    (GRANITE, {"residual_multiplier": "1"}, "residual_multiplier is"),
    (LLAMA, {"rope_parameters": {"rope_theta": 1e4}, "rope_theta": 1e6}, "rope_theta is 10000.0: beside it"),
    (LLAMA, {"rope_parameters": {"partial_rotary_factor": 0.5}}, "partial_rotary_factor is 0.5"),
    (LLAMA, {"partial_rotary_factor": 0.25}, "partial_rotary_factor is 0.25"),
    (LLAMA, {"rope_parameters": {"full_attention": {"rope_type": "linear"}}}, "full_attention is .*some layers"),
    (LLAMA, {"rope_scaling": {"rope_type": "llama3", **LLAMA3, "low_freq_factor": 4}}, "low_freq_factor is 4"),
    (LLAMA, {"quantization_config": {"quant_method": "awq"}}, "quantization_config is .*awq"),
    (LLAMA, {"num_local_experts": 8}, "num_local_experts is 8: mixtures"),
    (QWEN2, {"use_sliding_window": True, "sliding_window": 32}, "use_sliding_window is true"),
    (QWEN3, {"layer_types": ["full_attention", "sliding_attention"]}, "layer_types is"),
    (QWEN3, {"num_experts": 128}, "num_experts is 128"),
    (QWEN3, {"final_logit_softcapping": 30.0}, "final_logit_softcapping is 30.0: Qwen3ForCausalLM has no such cap"),
    (GPT2, {"num_experts": 4}, "num_experts is 4: mixtures"),
    (MIXTRAL, {"num_local_experts": 0}, "num_local_experts is 0"),
    (MIXTRAL, {"num_local_experts": None}, "num_local_experts is missing"),
    (MIXTRAL, {"num_experts_per_tok": None}, "num_experts_per_tok is missing"),
    (MIXTRAL, {"num_experts_per_tok": 6}, "num_experts_per_tok is 6: there are 5 experts"),
    (MIXTRAL, {"sliding_window": 0}, "sliding_window is 0"),
    (QWEN3_MOE, {"num_experts": 0}, "num_experts is 0"),
    (QWEN3_MOE, {"num_local_experts": 5}, "num_local_experts is 5: num_experts is 6"),
    (QWEN3_MOE, {"num_experts_per_tok": 7}, "num_experts_per_tok is 7: there are 6 experts"),
    (QWEN3_MOE, {"moe_intermediate_size": None}, "moe_intermediate_size is missing"),
    (QWEN3_MOE, {"mlp_only_layers": [2]}, "mlp_only_layers is .*from 0 to 1"),
    (QWEN3_MOE, {"mlp_only_layers": "all"}, "mlp_only_layers is"),
    (QWEN3_MOE, {"decoder_sparse_step": 0}, "decoder_sparse_step is 0"),
    (QWEN3_MOE, {"num_hidden_layers": 10**9}, "num_hidden_layers is 1000000000: at most"),
    (QWEN3_MOE, {"use_sliding_window": True}, "use_sliding_window is true: windows of some layers"),
    (GEMMA2, {"sliding_window": None}, "sliding_window is missing"),
    (GEMMA2, {"layer_types": ["full_attention"]}, "layer_types is .*one for each of 2 layers"),
    (GEMMA2, {"layer_types": ["chunked_attention"] * 2}, "layer_types is .*only full_attention and sliding_attention"),
    (GEMMA2, {"hidden_activation": "gelu"}, 'hidden_activation is "gelu": only gelu_pytorch_tanh'),
    (GEMMA2, {"attn_logit_softcapping": 0}, "attention_cap 0.0 .* is not above 0"),
    (GEMMA2, {"final_logit_softcapping": -1}, "logit_cap -1.0 .* is not above 0"),
    (GEMMA2, {"query_pre_attn_scalar": 0}, "query_pre_attn_scalar is 0"),
    (GEMMA2, {"use_bidirectional_attention": True}, "use_bidirectional_attention is true"),
    (GEMMA3, {"rope_local_base_freq": 0}, "window.rotary_base 0.0 .* is not above 0"),
    (GEMMA3, {"attn_logit_softcapping": 50.0}, "attn_logit_softcapping is 50.0: Gemma3ForCausalLM has no such cap"),
    (
        GEMMA3,
        {"rope_parameters": {"sliding_attention": {"rope_type": "linear"}}},
        'rope_type is "linear": only default',
    ),
    (GEMMA3, {"architectures": ["Gemma3ForConditionalGeneration"]}, "architectures is .*Gemma3ForConditional"),
    (GPT2, {"n_embd": 30}, "n_embd is 30: it is not a multiple of n_head 4"),
    (GPT2, {"activation_function": "relu"}, 'activation_function is "relu"'),
    (GPT2, {"activation_function": "gelu"}, 'activation_function is "gelu"'),
    (GPT2, {"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx is true"),
    (GPT2, {"scale_attn_weights": False}, "scale_attn_weights is false"),
    (GPT2, {"add_cross_attention": True}, "add_cross_attention is true"),
    (GPT2, {"resid_pdrop": 1.0}, "dropout 1.0"),
]


@pytest.mark.parametrize(("base", "changes", "told"), BAD, ids=[told for *_, told in BAD])
def test_what_cannot_be_is_refused_by_name_and_value(base: Any, changes: Any, told: str) -> None:
    with pytest.raises(ModelError, match=f"config.json: .*{told}"):
        from_hf(base | changes)


@pytest.mark.parametrize("values", ALL)
@pytest.mark.parametrize("base", [1e4, 5e5])
def test_what_is_written_is_read_back(values: dict[str, Any], base: float) -> None:
    config = from_hf(values | {"rope_theta": base})
    assert from_hf(to_hf(config)) == config


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)
FIELDS = sorted(
    {
        *(field for values in ALL for field in values),
        *("rope_scaling", "rope_parameters", "head_dim", "layer_types", "hidden_act", "mlp_only_layers"),
        *("final_logit_softcapping", "query_pre_attn_scalar", "decoder_sparse_step", "rope_local_base_freq"),
    }
)


@settings(max_examples=300)
@given(base=st.sampled_from(ALL), field=st.sampled_from(FIELDS), value=JSON)
def test_any_value_of_any_field_is_read_or_refused(base: dict[str, Any], field: str, value: Any) -> None:
    try:
        config = from_hf(base | {field: value})
    except ModelError:
        return
    assert isinstance(config, DecoderConfig)


def test_transformers_reads_the_scaling_that_we_write() -> None:
    config = replace(
        from_hf(LLAMA), rotary_base=5e5, rotary_scaling=RotaryScaling(kind="llama3", factor=8, original_context=32)
    )
    theirs = transformers.LlamaConfig(**to_hf(config))
    assert theirs.rope_parameters == {"rope_type": "llama3", "rope_theta": 5e5, **LLAMA3}


def test_a_shape_that_hugging_face_has_no_name_for_is_not_written() -> None:
    with pytest.raises(ModelError, match="llama configuration cannot say head_norm = True"):
        to_hf(replace(from_hf(LLAMA), head_norm=True))


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"layers": 0}, "layers is 0"),
        ({"kv_heads": 3}, "not a multiple"),
        ({"head_width": 9}, "is odd"),
        ({"dropout": 1.5}, "dropout 1.5"),
        ({"experts": ExpertsConfig(count=0, per_token=1, hidden=8, normed=True)}, "experts.count is 0"),
        (
            {"experts": ExpertsConfig(count=2, per_token=3, hidden=8, normed=True)},
            "per_token 3 .* is above experts.count 2",
        ),
        ({"experts": ExpertsConfig(count=2, per_token=1, hidden=8, normed=True, dense=(2,))}, "experts.dense"),
        ({"window": SlidingWindow(size=0)}, "window.size 0"),
        ({"query_scalar": 0}, "query_scalar 0"),
        ({"family": "gpt2", "width": 33, "rotary_base": None}, "width 33 is not heads 4 times head_width 8"),
    ],
)
def test_a_decoder_of_contradicting_sizes_cannot_be(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(ModelError, match=told):
        replace(from_hf(LLAMA), **changes)
