"""Who decays, who is Muon's, and clipping."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from gridstride.models.config import DecoderConfig, ExpertsConfig
from gridstride.models.decoder import Decoder
from gridstride.train.config import run_config
from gridstride.train.optim import optimiser
from gridstride.train.optim.muon import WideMuon
from gridstride.train.optim.precision import Precision

SETTINGS = run_config.load().optimiser
FP32, BF16 = Precision("fp32", "cpu"), Precision("bf16", "cpu")


def decoder() -> Decoder:
    shape = DecoderConfig(
        vocabulary=32, width=8, layers=1, heads=2, kv_heads=1, head_width=4, hidden=12, context=8, qkv_bias=True
    )
    return Decoder(shape)


@pytest.mark.parametrize("kind", ["muon", "adamw"])
def test_only_matrices_of_layers_decay_and_all_weights_learn(kind: str) -> None:
    model = decoder()
    built = optimiser.build(model, replace(SETTINGS, kind=kind), BF16)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    groups = [group for part in built.parts for group in part.param_groups]
    decayed = {names[id(p)] for group in groups if group["weight_decay"] for p in group["params"]}
    assert decayed == {n for n in names.values() if n.startswith("layers.") and n.endswith("proj.weight")}
    assert sorted(names[id(p)] for group in groups for p in group["params"]) == sorted(names.values())
    assert isinstance(built.parts[0], torch.optim.Muon) == (kind == "muon")


@pytest.mark.parametrize("kind", ["muon", "adamw"])
def test_experts_decay_and_are_adams(kind: str) -> None:
    shape = replace(decoder().config, experts=ExpertsConfig(count=3, per_token=1, hidden=4, normed=True))
    model = Decoder(shape)
    built = optimiser.build(model, replace(SETTINGS, kind=kind), FP32)
    experts = {id(p) for p in model.parameters() if p.ndim == 3}
    found = [group for group in built.parts[-1].param_groups if experts & {id(p) for p in group["params"]}]
    assert len(experts) == 2
    assert [group["weight_decay"] for group in found] == [SETTINGS.weight_decay]
    assert isinstance(built.parts[-1], torch.optim.AdamW)


def test_scale_sets_every_rate_to_a_share_of_its_own_peak() -> None:
    built = optimiser.build(decoder(), SETTINGS, FP32)
    built.scale(0.5)
    assert built.scale(0.25) == pytest.approx(SETTINGS.matrix_lr / 4)
    assert built.parts[1].param_groups[0]["lr"] == pytest.approx(SETTINGS.lr / 4)


def test_muon_multiplies_in_fp32_where_the_run_does_so_on_a_processor() -> None:
    made = [optimiser.build(decoder(), SETTINGS, p).parts[0] for p in (FP32, BF16, Precision("fp32", "cuda"))]
    assert [type(part) for part in made] == [WideMuon, torch.optim.Muon, torch.optim.Muon]


def grads(*values: list[float]) -> list[nn.Parameter]:
    made = []
    for value in values:
        parameter = nn.Parameter(torch.zeros(len(value)))
        parameter.grad = torch.tensor(value)
        made.append(parameter)
    return made


def test_clipping_scales_all_gradients_together() -> None:
    parameters = grads([3.0], [0.0, 4.0])
    assert optimiser.clip([*parameters, nn.Parameter(torch.ones(2))], 1.0).item() == pytest.approx(5.0)
    assert parameters[0].grad.tolist() == pytest.approx([0.6])
    assert parameters[1].grad.tolist() == pytest.approx([0.0, 0.8])


def test_small_gradients_stay_and_zero_only_measures() -> None:
    for norm in (10.0, 0.0):
        parameters = grads([3.0], [4.0])
        assert optimiser.clip(parameters, norm).item() == pytest.approx(5.0)
        assert parameters[0].grad.tolist() == [3.0]


def test_clipping_agrees_with_torch() -> None:
    torch.manual_seed(0)
    for norm in (0.5, 3.0):
        rows = [torch.randn(n).tolist() for n in (3, 5, 1)]
        ours, theirs = grads(*rows), grads(*rows)
        optimiser.clip(ours, norm)
        torch.nn.utils.clip_grad_norm_(theirs, norm)
        for a, b in zip(ours, theirs, strict=True):
            torch.testing.assert_close(a.grad, b.grad)
