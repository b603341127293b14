"""Whatever the arrangement of ranks, training is the same training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import ranks
import torch
import workers
from workers import TINY

from gridstride.train.config.arrangement import Arrangement

pytestmark = pytest.mark.timeout(900)
STEPS = 5
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

Losses = list[tuple[float, float]]

# Groups of ranks that share the work in every way there is, on every kind of layer.
CASES = {
    "alone, llama": (Arrangement(), TINY),
    "alone, qwen3": (Arrangement(), QWEN3),
    "alone, gpt2": (Arrangement(), GPT2),
    "ddp, llama": (Arrangement(world=2, mode="ddp"), TINY),
    "fsdp, llama": (Arrangement(world=2, mode="fsdp"), TINY),
    "tensor, llama": (Arrangement(world=2, tensor=2), TINY),
    "tensor, qwen3": (Arrangement(world=2, tensor=2), QWEN3),
    "tensor and sequence, gpt2": (Arrangement(world=2, tensor=2, sequence=True), GPT2),
    "fsdp x tensor, llama": (Arrangement(world=4, mode="fsdp", tensor=2), TINY),
    "fsdp x tensor and sequence, qwen3": (Arrangement(world=4, mode="fsdp", tensor=2, sequence=True), QWEN3),
}
TOGETHER = [name for name in CASES if not name.startswith("alone")]


@pytest.fixture(scope="module")
def losses(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Losses]:
    """Losses and norms of every case; ranks are started once for all that need as many."""
    folder, found = tmp_path_factory.mktemp("losses"), {}
    for world in (1, 2, 4):
        names = [name for name, (arrangement, _) in CASES.items() if arrangement.world == world]
        everyones = ranks.run(world, workers.train_all, [(*CASES[name], STEPS) for name in names], folder=folder)
        assert all(mine == everyones[0] for mine in everyones), "ranks disagree"
        found |= dict(zip(names, everyones[0], strict=True))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", TOGETHER)
def test_losses_and_norms_are_those_of_one_process(name: str, losses: dict[str, Losses]) -> None:
    assert losses[name] == same(losses[f"alone, {name.split(', ')[1]}"])


@pytest.mark.slow
def test_training_learns(losses: dict[str, Losses]) -> None:
    assert all(found[-1][0] < found[0][0] - 0.05 for found in losses.values())


SAVED = ["fsdp, llama", "tensor, llama"]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Checkpoints after three steps on two ranks, a folder for each arrangement."""
    folder = tmp_path_factory.mktemp("saved")
    ranks.run(2, workers.save_all, [(*CASES[name], 3, folder / name) for name in SAVED], folder=folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("world", [1, 4])
def test_what_two_ranks_saved_goes_on_at_one_and_at_four(
    world: int, saved: Path, losses: dict[str, Losses], tmp_path: Path
) -> None:
    arrangement = Arrangement() if world == 1 else Arrangement(world=4, mode="fsdp", tensor=2)
    cases = [(arrangement, TINY, STEPS, saved / name) for name in SAVED]
    for found in ranks.run(world, workers.resume_all, cases, folder=tmp_path)[0]:
        assert found == same(losses["alone, llama"][3:])


def test_rank_0_can_have_all_weights(tmp_path: Path) -> None:
    arrangement, config = CASES["fsdp x tensor and sequence, qwen3"]
    exported, *others = ranks.run(arrangement.world, workers.exported, arrangement, config, folder=tmp_path)
    assert others == [None] * (arrangement.world - 1)
    expected = ranks.run(1, workers.exported, Arrangement(), config, folder=tmp_path)[0]
    assert exported.keys() == expected.keys()
    assert all(torch.equal(exported[key], expected[key]) for key in expected)


def same(expected: list[tuple[float, float]]) -> list[object]:
    """Losses within the tolerance, norms of gradients within 1e-4 of theirs."""
    return [(pytest.approx(loss, abs=TOLERANCE), pytest.approx(norm, rel=1e-4)) for loss, norm in expected]
