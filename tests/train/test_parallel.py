"""Whatever the arrangement of ranks, training is the same training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import ranks
import torch
import workers
from workers import TINY

from gridstride.models.config import DecoderConfig
from gridstride.train.arrangement import Arrangement

STEPS = 6
TOLERANCE = 2e-6  # of losses near 4 in fp32: a few times its rounding, as sums have another order

QWEN3 = replace(TINY, family="qwen3", head_norm=True, kv_heads=2, tied=False)
GPT2 = replace(
    TINY,
    family="gpt2",
    rotary_base=None,
    qkv_bias=True,
    output_bias=True,
    mlp_bias=True,
    norm="layer",
    activation="gelu_tanh",
)

_alone: dict[DecoderConfig, list[tuple[float, float]]] = {}  # a cache: what one process gives


def alone(config: DecoderConfig, tmp_path: Path) -> list[tuple[float, float]]:
    if config not in _alone:
        _alone[config] = ranks.run(1, workers.train, Arrangement(), config, STEPS, workers.BATCH, folder=tmp_path)[0]
    return _alone[config]


# Groups of ranks that share the work in every way there is, on every kind of layer.
ARRANGEMENTS = {
    "ddp": (Arrangement(world=2, mode="ddp"), TINY),
    "fsdp": (Arrangement(world=2, mode="fsdp"), TINY),
    "tensor": (Arrangement(world=2, tensor=2), TINY),
    "tensor, qwen3": (Arrangement(world=2, tensor=2), QWEN3),
    "tensor and sequence, gpt2": (Arrangement(world=2, tensor=2, sequence=True), GPT2),
    "fsdp x tensor": (Arrangement(world=4, mode="fsdp", tensor=2), TINY),
    "fsdp x tensor and sequence, qwen3": (Arrangement(world=4, mode="fsdp", tensor=2, sequence=True), QWEN3),
}


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ARRANGEMENTS)
def test_losses_and_norms_are_those_of_one_process(name: str, tmp_path: Path) -> None:
    arrangement, config = ARRANGEMENTS[name]
    everyones = ranks.run(arrangement.world, workers.train, arrangement, config, STEPS, folder=tmp_path)
    assert all(mine == everyones[0] for mine in everyones), "ranks disagree"
    assert everyones[0] == same(alone(config, tmp_path))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["ddp", "fsdp", "tensor"])
def test_what_two_ranks_saved_goes_on_at_one_and_at_four(name: str, tmp_path: Path) -> None:
    arrangement, config = ARRANGEMENTS[name]
    ranks.run(2, workers.saved, arrangement, config, 3, tmp_path / "run", folder=tmp_path)
    expected = alone(config, tmp_path)[3:]
    for other in (Arrangement(), Arrangement(world=4, mode="fsdp", tensor=2)):
        went_on = ranks.run(other.world, workers.resumed, other, config, STEPS, tmp_path / "run", folder=tmp_path)
        assert went_on[0] == same(expected)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", ["ddp", "fsdp x tensor and sequence, qwen3"])
def test_rank_0_can_have_all_weights(name: str, tmp_path: Path) -> None:
    arrangement, config = ARRANGEMENTS[name]
    exported, *others = ranks.run(arrangement.world, workers.exported, arrangement, config, folder=tmp_path)
    assert others == [None] * (arrangement.world - 1)
    expected = ranks.run(1, workers.exported, Arrangement(), config, folder=tmp_path)[0]
    assert exported.keys() == expected.keys()
    assert all(torch.equal(exported[key], expected[key]) for key in expected)


def same(expected: list[tuple[float, float]]) -> list[object]:
    """Losses within the tolerance, norms of gradients within 1e-4 of theirs."""
    return [(pytest.approx(loss, abs=TOLERANCE), pytest.approx(norm, rel=1e-4)) for loss, norm in expected]
