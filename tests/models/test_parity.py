"""Logits equal those of `transformers` for the same folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from gridstride.models.families import FAMILIES
from gridstride.models.huggingface import folder

from .families import make, tokens

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10_000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 16,
}
YARN = {"rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16}
GRANITE = {
    "embedding_multiplier": 12.0, "residual_multiplier": 0.22, "attention_multiplier": 0.3, "logits_scaling": 8.0,
    "attention_bias": True, "mlp_bias": True,
}  # fmt: skip
WAVES = {"short_factor": [1.0, 1.1, 1.5, 2.0], "long_factor": [1.0, 2.0, 5.0, 9.0]}
LONGROPE = {"rope_type": "longrope", "rope_theta": 1e4, "original_max_position_embeddings": 20, **WAVES}
LONG = {"original_max_position_embeddings": 20, "rope_parameters": LONGROPE}
GEMMAS = ("gemma2", "gemma3_text")
GEMMA3 = {
    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e6},
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e3},
}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {}),
    "llama tied": ("llama", {"tie_word_embeddings": True}),
    "llama biased": ("llama", {"attention_bias": True, "mlp_bias": True}),
    "llama 3 rotary": ("llama", {"rope_parameters": LLAMA3}),
    "llama linear rotary": ("llama", {"rope_parameters": {"rope_type": "linear", "rope_theta": 5e4, "factor": 3.0}}),
    "llama heads wider than the model": ("llama", {"head_dim": 20}),
    "llama one key head": ("llama", {"num_key_value_heads": 1}),
    "llama as many key heads": ("llama", {"num_key_value_heads": 4}),
    "qwen2": ("qwen2", {}),
    "qwen2 tied": ("qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("qwen3", {}),
    "qwen3 biased": ("qwen3", {"attention_bias": True}),
    "qwen3 tied": ("qwen3", {"tie_word_embeddings": True, "rms_norm_eps": 1e-3}),
    "mistral": ("mistral", {}),
    "mistral within its window": ("mistral", {"sliding_window": 48}),
    "mistral heads wider than the model": ("mistral", {"head_dim": 20, "sliding_window": None}),
    "granite": ("granite", {}),
    "granite scaled": ("granite", GRANITE),
    "olmo2": ("olmo2", {}),
    "olmo2 tied": ("olmo2", {"tie_word_embeddings": True, "num_key_value_heads": 4}),
    "phi3": ("phi3", {}),
    "phi3 as many key heads": ("phi3", {"num_key_value_heads": 4}),
    "yarn": ("qwen2", {"rope_parameters": YARN}),
    "yarn with its own factor": ("llama", {"rope_parameters": YARN | {"attention_factor": 1.5, "beta_fast": 8.0}}),
    "dynamic rotary": ("llama", {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 2.0}}),
    "phi3 long": ("phi3", LONG),
    "phi3 within its first context": ("phi3", LONG | {"original_max_position_embeddings": 48}),
    "longrope with its own factor": ("llama", {"rope_parameters": LONGROPE | {"attention_factor": 1.5}}),
    "mistral beyond its window": ("mistral", {"sliding_window": 7}),
    "phi3 beyond its window": ("phi3", {"sliding_window": 20}),
    "mixtral": ("mixtral", {}),
    "mixtral one expert of two": ("mixtral", {"num_local_experts": 2, "num_experts_per_tok": 1}),
    "mixtral all experts": ("mixtral", {"num_experts_per_tok": 5, "intermediate_size": 7}),
    "mixtral beyond its window": ("mixtral", {"sliding_window": 9}),
    "qwen3 moe": ("qwen3_moe", {}),
    "qwen3 moe normed": ("qwen3_moe", {"norm_topk_prob": True, "attention_bias": True, "head_dim": 20}),
    "qwen3 moe every second layer": ("qwen3_moe", {"decoder_sparse_step": 2, "num_hidden_layers": 4}),
    "qwen3 moe but one layer": ("qwen3_moe", {"mlp_only_layers": [1], "num_hidden_layers": 3, "intermediate_size": 33}),
    "gemma2": ("gemma2", {}),
    "gemma2 biased": ("gemma2", {"attention_bias": True, "sliding_window": 5}),
    "gemma2 without caps": ("gemma2", {"attn_logit_softcapping": None, "final_logit_softcapping": None}),
    "gemma2 with low caps": ("gemma2", {"attn_logit_softcapping": 1.5, "final_logit_softcapping": 3.0}),
    "gemma2 its own scale": ("gemma2", {"query_pre_attn_scalar": 256, "tie_word_embeddings": False}),
    "gemma2 no window": ("gemma2", {"layer_types": ["full_attention"] * 3}),
    "gemma3": ("gemma3_text", {}),
    "gemma3 usual layers": ("gemma3_text", {"layer_types": None, "num_hidden_layers": 7, "sliding_window": 6}),
    "gemma3 capped": ("gemma3_text", {"final_logit_softcapping": 2.0}),
    "gemma3 all windows": ("gemma3_text", {"layer_types": ["sliding_attention"] * 3, "num_key_value_heads": 1}),
    "gemma3 stretched": ("gemma3_text", {"rope_parameters": GEMMA3}),
    "gpt2": ("gpt2", {}),
    "gpt2 untied": ("gpt2", {"tie_word_embeddings": False}),
    "gpt2 inner": ("gpt2", {"n_inner": 40, "layer_norm_epsilon": 1e-3}),
}

SAVED: list[tuple[str, dict[str, Any]]] = [
    CASES[name]
    for name in (
        *("mistral beyond its window", "qwen3 moe but one layer", "qwen3 moe normed", "gemma2 without caps"),
        *("gemma2 no window", "gemma3 usual layers", "gemma3 stretched", "gemma3 all windows", "phi3 long"),
    )
]
"""Of which saving must say more than a family's sizes."""


def difference(path: Path, family: str, length: int = 48, **changes: Any) -> float:
    """The largest difference of logits between theirs and ours from the same folder."""
    theirs = make(family, **changes)
    theirs.save_pretrained(path)
    ours = folder.load(path)
    ids = tokens(ours.config.vocabulary, 2, length)
    with torch.no_grad():
        return float((ours.logits(ours(ids)) - theirs(ids).logits).abs().max())


def test_every_family_has_a_case_and_its_line_in_the_document() -> None:
    assert {family for family, _ in CASES.values()} == set(FAMILIES)
    told = (Path(__file__).parents[2] / "docs/models.md").read_text()
    assert [facts.architecture for facts in FAMILIES.values() if f"`{facts.architecture}`" not in told] == []


@pytest.mark.parametrize("case", CASES)
def test_logits_equal_those_of_transformers(case: str, tmp_path: Path) -> None:
    family, changes = CASES[case]
    assert difference(tmp_path, family, **changes) < 1e-4


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    family=st.sampled_from(["llama", "qwen2", "qwen3", "mistral", "granite", "mixtral", "qwen3_moe", *GEMMAS]),
    groups=st.integers(1, 3),
    kv_heads=st.integers(1, 3),
    half=st.integers(1, 9),
    hidden=st.integers(1, 33),
    vocabulary=st.integers(2, 70),
    layers=st.integers(1, 3),
    tied=st.booleans(),
    window=st.integers(1, 12),
    experts=st.integers(1, 7),
)
def test_logits_are_equal_at_odd_sizes(
    tmp_path: Path, family: str, groups: int, kv_heads: int, half: int, hidden: int, **more: Any
) -> None:
    heads = groups * kv_heads
    changes = {
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "head_dim": 2 * half,
        "hidden_size": heads * 6,
        "intermediate_size": hidden,
        "vocab_size": more["vocabulary"],
        "num_hidden_layers": more["layers"],
        "tie_word_embeddings": more["tied"],
    }
    if FAMILIES[family].full_every is not None:
        changes |= {"sliding_window": more["window"], "layer_types": None}
    if (fields := FAMILIES[family].experts) is not None:
        changes |= {fields.count[0]: more["experts"], "num_experts_per_tok": 1 + more["window"] % more["experts"]}
        changes |= {fields.hidden: hidden, "norm_topk_prob": more["tied"]}
    assert difference(tmp_path, family, length=9, **changes) < 1e-4


@pytest.mark.parametrize(("family", "changes"), [(family, {}) for family in FAMILIES] + SAVED)
@pytest.mark.parametrize("shard_bytes", [10**9, 3000])
def test_transformers_reads_what_we_save(
    family: str, changes: dict[str, Any], shard_bytes: int, tmp_path: Path
) -> None:
    make(family, **changes).save_pretrained(tmp_path / "theirs")
    ours = folder.load(tmp_path / "theirs")
    folder.save(ours, tmp_path / "ours", shard_bytes=shard_bytes)
    assert (len(list((tmp_path / "ours").glob("*.safetensors"))) > 1) == (shard_bytes == 3000)
    again, info = AutoModelForCausalLM.from_pretrained(tmp_path / "ours", output_loading_info=True)
    assert not any(info[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys"))
    ids = tokens(61, 2, 40)
    with torch.no_grad():
        assert (again(ids).logits - ours.logits(ours(ids))).abs().max() < 1e-4
