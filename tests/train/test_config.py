"""Configurations: one source of defaults, each value explained, each mistake named."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import pytest

from gridstride.train.config import run_config
from gridstride.train.errors import TrainError


@pytest.mark.parametrize(("steps", "warmup"), [(1, 1), (10, 2), (60, 12), (100, 20), (5000, 20)])
def test_the_default_warmup_fits_a_short_run(steps: int, warmup: int) -> None:
    assert run_config.load(changes=(f"run.steps={steps}", "run.minutes=0")).schedule.warmup == warmup


def test_a_warmup_that_was_asked_for_is_not_changed() -> None:
    with pytest.raises(TrainError, match="warmup = 20 is longer than"):
        run_config.load(changes=("run.steps=10", "run.minutes=0", "schedule.warmup=20"))


def test_every_default_is_explained() -> None:
    lines = run_config.DEFAULTS.read_text().splitlines()
    keys = [line for line in lines if re.match(r"\w+ = ", line)]
    assert len(keys) == sum(len(section) for section in asdict(run_config.load()).values())
    assert [line for line in keys if " # " not in line] == []


def test_presets_are_valid() -> None:
    assert run_config.presets()
    for name in run_config.presets():
        run_config.load(name)


def test_a_file_holds_only_what_differs(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[optimiser]\nlr = 1\n")
    found = run_config.load(tmp_path / "c.toml", changes=["model.layers=3", "seed=7", "data.source=some/folder"])
    assert (found.optimiser.lr, found.model.layers, found.run.seed) == (1.0, 3, 7)
    assert found.data.source == "some/folder"
    assert found.model.width == run_config.load().model.width


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    chosen = run_config.load(changes=['data.source="a \\"b\\" ü"', "run.profile_steps=[2, 3]", "run.compile=true"])
    (tmp_path / "c.toml").write_text(run_config.text(chosen))
    assert run_config.load(tmp_path / "c.toml") == chosen


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("model.widht=8", "no model.widht. Did you mean model.width?"),
        ("optimiser.batch=8", "Did you mean run.batch?"),
        ("optimizer.lr=1", r"no section \[optimizer\]. Did you mean \[optimiser\]?"),
        ("nothing", "write section.key=value"),
        ("frobnicate=1", "which section's"),
        ("tensr=1", "Did you mean parallel.tensor?"),
        ("model.width=big", "model.width must be an integer, not 'big'"),
        ("model.width=1.5", "model.width must be an integer, not 1.5"),
        ("model.width=true", "model.width must be an integer, not True"),
        ("model.tied=1", "model.tied must be true or false, not 1"),
        ("optimiser.lr=nan", "optimiser.lr must be finite"),
        ("optimiser.kind=sgd", "'sgd'; it can be 'muon', 'adamw'"),
        ("run.profile_steps=[1]", "must be .* or .first, last."),
        ("run.profile_steps=[1, 2.5]", "must be a list of integers"),
        ("model.kv_heads=2", "model.heads = 3 is no multiple of model.kv_heads = 2"),
        ("run.steps=10", "both say when to stop"),
        ("run.minutes=0", "one must say when to stop"),
        ("schedule.shape=cosine", "must know its end"),
        ("run.micro_batch=3", "no multiple of run.micro_batch = 3"),
        ("optimiser.lr=0", "must be above 0"),
        ("data.validation_share=0.5", "must be below 0.5"),
        ("run.name=../x", "must be a folder's name"),
        ("run.seed=4294967296", "must be at most 4294967295"),
        pytest.param("optimiser.lr=1" + "0" * 400, "optimiser.lr is too large", id="beyond a float"),
        pytest.param("run.seed=" + "9" * 5000, "must be an integer", id="beyond what is parsed"),
        ("run.steps=99999999999999999999", "run.steps is too large"),
        ("data.vocabulary=99999999999", "data.vocabulary is 99999999999; it must be at most 4194304"),
        ("model.layers=1000000", "must be at most 4096"),
        ("data.source=", "data.source is empty"),
        ("run.device=tpu", "must be 'auto', 'cpu', 'cuda'"),
        ("data.vocabulary=100", "must be at least 260"),
        ("parallel.mode=fsdp", "'muon' needs whole matrices"),
    ],
)
def test_a_mistake_is_refused_by_name(change: str, message: str) -> None:
    with pytest.raises(TrainError, match=message):
        run_config.load(changes=[change])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"model = 3\n", "model must be a section"),
        (b"steps = 3\n", r"no section \[steps\]. Did you mean run.steps"),
        (b"[model\n", "is not TOML"),
        (b"\xff\xfe", "is not UTF-8"),
        pytest.param(b"x = " + b"9" * 5000, "is not TOML", id="digits"),
        pytest.param(b"x = " + b"[" * 5000, "is not TOML", id="brackets"),
    ],
)
def test_a_file_that_is_no_configuration_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "c.toml").write_bytes(content)
    with pytest.raises(TrainError, match=message):
        run_config.load(tmp_path / "c.toml")


def test_a_missing_file_names_those_that_come_along() -> None:
    with pytest.raises(TrainError, match="gpu-100m"):
        run_config.load("gpu-100")
