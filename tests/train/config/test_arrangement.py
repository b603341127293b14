"""What ranks, model and batch do not allow is refused by name, all of it at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gridstride.models.config import DecoderConfig, ExpertsConfig
from gridstride.train.config.arrangement import Arrangement
from gridstride.train.errors import TrainError

MODEL = DecoderConfig(vocabulary=64, width=32, layers=2, heads=4, kv_heads=4, head_width=8, hidden=48, context=16)


def refusal(arrangement: Arrangement, model: DecoderConfig = MODEL, *, batch: int = 8, fp16: bool = False) -> str:
    with pytest.raises(TrainError) as refused:
        arrangement.check(model, batch=batch, length=16, fp16=fp16)
    return str(refused.value)


@pytest.mark.parametrize(
    "arrangement",
    [
        Arrangement(),
        Arrangement(mode="fsdp"),
        Arrangement(world=8, mode="ddp"),
        Arrangement(world=4, tensor=4, sequence=True),
        Arrangement(world=4, mode="fsdp", tensor=2),
    ],
)
def test_what_fits_is_allowed(arrangement: Arrangement) -> None:
    arrangement.check(MODEL, batch=8, length=16)


def test_processes_without_work_are_refused() -> None:
    assert "2 processes, but parallel.mode = 'none' has work for 1" in refusal(Arrangement(world=2))
    assert "4 processes, but parallel.mode = 'none' has work for 2" in refusal(Arrangement(world=4, tensor=2))


@pytest.mark.parametrize("world", [1, 3])
def test_groups_that_are_not_full_are_refused(world: int) -> None:
    said = refusal(Arrangement(world=world, mode="fsdp", tensor=2))
    assert f"parallel.tensor = 2 needs a multiple of 2 processes, not {world}" in said


def test_layers_that_are_not_split_are_refused() -> None:
    arrangement = Arrangement(world=2, tensor=2)
    for change in ({"experts": ExpertsConfig(count=4, per_token=2, hidden=8, normed=True)}, {"norm_around": True}):
        said = refusal(arrangement, replace(MODEL, family="mixtral", **change))
        assert "parallel.tensor = 2 does not know the layers of mixtral: use fsdp alone" in said


def test_replicas_of_split_matrices_are_refused() -> None:
    assert "parallel.tensor = 2 goes with" in refusal(Arrangement(world=4, mode="ddp", tensor=2))


def test_a_batch_that_does_not_split_is_refused() -> None:
    assert "a batch of 9 sequences does not split over 2 ranks" in refusal(Arrangement(world=2, mode="ddp"), batch=9)


@pytest.mark.parametrize(
    ("size", "changes"),
    [
        ("heads = 6", {"heads": 6, "kv_heads": 2}),
        ("kv_heads = 2", {"kv_heads": 2}),
        ("hidden = 50", {"hidden": 50}),
        ("vocabulary = 66", {"vocabulary": 66}),
    ],
)
def test_sizes_that_do_not_split_are_refused_by_name(size: str, changes: dict[str, int]) -> None:
    said = refusal(Arrangement(world=4, tensor=4), replace(MODEL, **changes))
    assert f"{size} is no multiple of parallel.tensor = 4" in said


def test_positions_that_do_not_split_are_refused_where_they_would_be() -> None:
    odd = Arrangement(world=3, tensor=3, sequence=True)
    model = replace(MODEL, heads=3, kv_heads=3, vocabulary=63)
    assert refusal(odd, model) == "parallel: data.sequence = 16 is no multiple of parallel.tensor = 3"


def test_fp16_is_refused_where_ranks_see_parts() -> None:
    assert "use bf16 or fp32" in refusal(Arrangement(world=2, mode="fsdp"), fp16=True)
    Arrangement(world=2, mode="ddp").check(MODEL, batch=8, length=16, fp16=True)


def test_all_faults_are_said_at_once() -> None:
    said = refusal(Arrangement(world=2, tensor=2), replace(MODEL, heads=3, kv_heads=3))
    assert "heads = 3" in said
    assert "kv_heads = 3" in said
