"""Mixtures of experts: what a loop over tokens gives, its gradients, balanced routers, and how they are stored."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers.models.mixtral.modeling_mixtral import load_balancing_loss_func

from gridstride.models import ops
from gridstride.models.config import DecoderConfig, ExpertsConfig
from gridstride.models.errors import ModelError
from gridstride.models.experts import MixtureOfExperts, balance_loss, router_logits
from gridstride.models.huggingface import folder

from .families import make, saved, tokens

EXPERTS = ExpertsConfig(count=5, per_token=2, hidden=12, normed=True)
CONFIG = DecoderConfig(
    vocabulary=61, width=16, layers=2, heads=4, kv_heads=2, head_width=8, hidden=48, context=64, experts=EXPERTS
)
MIXTURES = ("mixtral", "qwen3_moe")


def mixture(**changes: Any) -> MixtureOfExperts:
    torch.manual_seed(0)
    made = MixtureOfExperts(replace(CONFIG, experts=replace(EXPERTS, **changes)))
    with torch.no_grad():
        for weight in made.parameters():
            weight.normal_(std=0.4)
    return made


def one_by_one(made: MixtureOfExperts, x: Tensor) -> Tensor:
    """Token by token and expert by expert."""
    rows = []
    for token in x:
        shares, chosen = made.router(token).softmax(-1).topk(made.per_token)
        shares = shares / shares.sum() if made.normed else shares
        row = torch.zeros_like(token)
        for share, expert in zip(shares, chosen.tolist(), strict=True):
            gate, up = (made.experts.gate_up_proj[expert] @ token).chunk(2)
            row = row + share * (made.experts.down_proj[expert] @ (F.silu(gate) * up))
        rows.append(row)
    return torch.stack(rows)


@pytest.mark.parametrize("normed", [True, False])
@pytest.mark.parametrize("per_token", [1, 2, 5])
def test_sorted_tokens_give_what_a_loop_over_them_gives(per_token: int, normed: bool) -> None:
    made = mixture(per_token=per_token, normed=normed)
    x = torch.randn(2, 7, 16)
    torch.testing.assert_close(made(x), one_by_one(made, x.flatten(0, 1)).view_as(x), atol=1e-5, rtol=1e-5)


def test_gradients_are_those_of_the_loop_and_experts_without_tokens_have_none() -> None:
    made, x = mixture(per_token=1), torch.randn(2, 16)
    found = torch.autograd.grad(made(x).square().sum(), tuple(made.parameters()))
    expected = torch.autograd.grad(one_by_one(made, x).square().sum(), tuple(made.parameters()))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    unused = set(range(5)) - set(made.router(x).argmax(-1).tolist())
    assert all(not found[1][expert].any() for expert in unused)


def test_the_grouped_product_gives_what_single_products_give(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's own for bf16 on a GPU; it has one for CPUs too."""
    rows, weights, counts = torch.randn(9, 16), torch.randn(4, 8, 16), torch.tensor([3, 0, 5, 1])
    apart = ops.grouped_linear(rows, weights, counts)
    monkeypatch.setattr(ops, "_grouped", lambda *_: True)
    torch.testing.assert_close(ops.grouped_linear(rows, weights, counts), apart, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("family", MIXTURES)
def test_gradients_and_router_loss_are_those_of_transformers(family: str, tmp_path: Path) -> None:
    theirs = make(family)
    theirs.save_pretrained(tmp_path)
    ours = folder.load(tmp_path)
    ids = tokens(61, 2, 24)
    with router_logits(ours) as routed:
        logits = ours.logits(ours(ids))
    balance = balance_loss(routed)
    (F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()) + 0.1 * balance).backward()
    output = theirs(ids, output_router_logits=True)
    aux = load_balancing_loss_func(output.router_logits, 5, ours.config.experts.per_token)  # type: ignore[union-attr]
    assert balance.item() == pytest.approx(aux.item(), rel=1e-5)
    (F.cross_entropy(output.logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()) + 0.1 * aux).backward()
    layer, other = ours.layers[1].mlp, theirs.model.layers[1].mlp
    pairs = [(getattr(layer.experts, name), getattr(other.experts, name)) for name in ("gate_up_proj", "down_proj")]
    for mine, given in ((layer.router.weight, other.gate.weight), *pairs):
        torch.testing.assert_close(mine.grad, given.grad, atol=1e-5, rtol=1e-4)


def test_routers_are_balanced_at_one_times_the_experts_of_a_token() -> None:
    even = torch.zeros(40, 4) + torch.eye(4).repeat(10, 1) * 1e-3
    assert float(balance_loss([(even, 1)])) == pytest.approx(1.0, abs=1e-3)
    one_for_all = torch.zeros(40, 4)
    one_for_all[:, 2] = 20.0
    assert float(balance_loss([(one_for_all, 1)])) == pytest.approx(4.0, abs=1e-3)


@pytest.mark.parametrize("family", MIXTURES)
def test_experts_in_one_tensor_are_read_too(family: str, tmp_path: Path) -> None:
    made = make(family)
    made.save_pretrained(tmp_path / "apart")
    made.save_pretrained(tmp_path / "joined", save_original_format=False)
    names = load_file(tmp_path / "joined" / "model.safetensors").keys()
    assert "model.layers.0.mlp.experts.gate_up_proj" in names
    both = [folder.load(tmp_path / kind) for kind in ("apart", "joined")]
    states = [decoder.state_dict() for decoder in both]
    assert all(torch.equal(weight, states[1][name]) for name, weight in states[0].items())


@pytest.mark.parametrize(("family", "one"), [("mixtral", "block_sparse_moe.experts.4.w2"),
                                             ("qwen3_moe", "mlp.experts.2.up_proj")])  # fmt: skip
def test_a_missing_expert_is_named(family: str, one: str, tmp_path: Path) -> None:
    file = saved(tmp_path, family) / "model.safetensors"
    weights = load_file(file)
    del weights[f"model.layers.1.{one}.weight"]
    save_file(weights, file)
    with pytest.raises(ModelError, match=f"lacks the weights model.layers.1.{one}.weight"):
        folder.load(tmp_path)


def test_more_experts_than_weights_are_refused_before_they_are_made(tmp_path: Path) -> None:
    config = saved(tmp_path, "mixtral") / "config.json"
    config.write_text(config.read_text().replace('"num_local_experts": 5', f'"num_local_experts": {1 << 38}'))
    with pytest.raises(ModelError, match=f"config.json says {1 << 38} experts, the files hold 47 weights"):
        folder.load(tmp_path)


def test_fewer_experts_than_are_stored_are_refused(tmp_path: Path) -> None:
    config = saved(tmp_path, "qwen3_moe") / "config.json"
    config.write_text(config.read_text().replace('"num_local_experts": 5', '"num_local_experts": 4'))
    with pytest.raises(ModelError, match=r"has the shape \[5, 32\]|no use for"):
        folder.load(tmp_path)
