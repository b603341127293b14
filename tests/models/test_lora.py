"""Low-rank updates: they begin as nothing, can be left out, and fold into the weights."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from gridstride.models import lora
from gridstride.models.config import DecoderConfig, ExpertsConfig
from gridstride.models.decoder import Decoder
from gridstride.models.errors import ModelError
from gridstride.models.lora import LoraConfig

CONFIG = DecoderConfig(vocabulary=61, width=32, layers=2, heads=4, kv_heads=2, head_width=8, hidden=48, context=64)
LORA = LoraConfig(rank=4, alpha=8.0, targets=("q_proj", "down_proj"))
TOKENS = torch.arange(24).view(2, 12)


def logits(decoder: Decoder) -> torch.Tensor:
    with torch.no_grad():
        return decoder.logits(decoder(TOKENS))


@pytest.fixture
def decoder() -> Decoder:
    torch.manual_seed(0)
    return Decoder(CONFIG).eval()


def changed(decoder: Decoder) -> Decoder:
    lora.add(decoder, LORA)
    for layer in lora.updated(decoder).values():
        torch.nn.init.normal_(layer.lora_B, std=0.3)
    return decoder


def test_updates_change_nothing_at_first_and_learn_alone(decoder: Decoder) -> None:
    before = logits(decoder)
    lora.add(decoder, LORA)
    assert torch.equal(logits(decoder), before)
    learned = {name for name, weight in decoder.named_parameters() if weight.requires_grad}
    layers = [f"layers.{layer}.{name}" for layer in (0, 1) for name in ("self_attn.q_proj", "mlp.down_proj")]
    assert learned == {f"{layer}.lora_{half}" for layer in layers for half in "AB"}


def test_the_base_is_there_where_updates_are_disabled(decoder: Decoder) -> None:
    before = logits(decoder)
    after = logits(changed(decoder))
    assert (after - before).abs().max() > 0.1
    with lora.disabled(decoder):
        assert torch.equal(logits(decoder), before)
    assert torch.equal(logits(decoder), after)


def test_merged_weights_compute_the_same(decoder: Decoder) -> None:
    after = logits(changed(decoder))
    plain = Decoder(CONFIG).eval()
    plain.load_state_dict(lora.merged(decoder))
    torch.testing.assert_close(logits(plain), after, atol=1e-5, rtol=1e-5)


def test_an_update_is_scaled_by_alpha_over_rank(decoder: Decoder) -> None:
    changed(decoder)
    layer = lora.updated(decoder)["layers.0.self_attn.q_proj"]
    x = torch.randn(3, 32)
    with torch.no_grad():
        expected = x @ (layer.weight + 8 / 4 * layer.lora_B @ layer.lora_A).T
        torch.testing.assert_close(layer(x), expected, atol=1e-5, rtol=1e-5)


def test_experts_have_no_updates_but_the_attention_beside_them_has() -> None:
    experts = ExpertsConfig(count=4, per_token=2, hidden=16, normed=True)
    for family in ("mixtral", "qwen3_moe"):
        config = replace(CONFIG, family=family, experts=experts)
        assert lora.targets("all-linear", config) == ("q_proj", "k_proj", "v_proj", "o_proj")
        with pytest.raises(ModelError, match=f"up_proj is a layer of experts in {family}.*q_proj, k_proj, v_proj"):
            lora.targets("q_proj,up_proj", config)
        made = Decoder(config)
        lora.add(made, LoraConfig(rank=2, alpha=4.0, targets=lora.targets("all-linear", config)))
        learned = {name.split(".")[2] for name, weight in made.named_parameters() if weight.requires_grad}
        assert learned == {"self_attn"}


def test_targets_are_names_or_all() -> None:
    assert lora.targets("all-linear", CONFIG) == tuple(
        "q_proj k_proj v_proj o_proj gate_proj up_proj down_proj".split()
    )
    assert lora.targets("q_proj, v_proj,q_proj", CONFIG) == ("q_proj", "v_proj")
    with pytest.raises(ModelError, match="'query' is no layer that LoRA can update: q_proj, k_proj"):
        lora.targets("q_proj,query", CONFIG)
    gpt2 = DecoderConfig(
        family="gpt2", vocabulary=61, width=32, layers=1, heads=4, kv_heads=4, head_width=8, hidden=48, context=64
    )
    for fused in (gpt2, replace(gpt2, family="phi3")):
        with pytest.raises(ModelError, match=f"llama, qwen2, .*, not for {fused.family}"):
            lora.targets("all-linear", fused)
