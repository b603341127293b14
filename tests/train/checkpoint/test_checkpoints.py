"""A checkpoint is complete or not there; what it holds comes back exactly, or is refused by name."""

from __future__ import annotations

import json
import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ranks
import torch
import workers

from gridstride.train.checkpoint.checkpoints import CheckpointError, Checkpoints


def tensors(seed: int = 0) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(seed)
    return {
        "model": {"a": torch.randn(5, 7, generator=generator), "b": torch.randn(3, generator=generator).bfloat16()},
        "optimiser": {"state": {"a": {"step": torch.tensor(float(seed))}}, "param_groups": [{"betas": (0.9, 0.95)}]},
    }


def same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        return type(one) is type(other) and len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other) and one.dtype == other.dtype
    return repr(one) == repr(other)


def test_a_state_comes_back_exactly(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    saved = tensors(1)
    meta = {"step": 3, "best": 0.1 + 0.2, "worst": math.inf, "position": [4, 17], "scaler": {"scale": 65536.0}}
    own = {"rng": torch.get_rng_state().numpy().tobytes().hex()}
    checkpoints.save(3, saved, meta=meta, own=own)
    loaded = tensors(2)
    found = checkpoints.load(3, loaded, verify=True)
    assert same(loaded, saved)
    assert found.meta == meta
    assert found.own == [own]
    assert (found.step, found.ranks) == (3, 1)
    assert list(checkpoints.path(3).parent.glob(".saving*")) == []


def test_what_two_ranks_saved_one_and_four_load(tmp_path: Path) -> None:
    ranks.run(2, workers.save_spread, tmp_path / "run", 5, folder=tmp_path)
    for world in (1, 4):
        for loaded, meta, own in ranks.run(world, workers.load_spread, tmp_path / "run", folder=tmp_path):
            assert same(loaded, workers.spread(5))
            assert meta == {"seed": 5}
            assert own == [0, 1]


def test_a_disk_that_is_full_for_one_rank_fails_the_save_on_all_and_loses_nothing(tmp_path: Path) -> None:
    run = tmp_path / "run"
    ranks.run(2, workers.save_spread, run, 5, folder=tmp_path)
    said = ranks.run(2, workers.save_with_a_full_disk, run, 1, folder=tmp_path)
    assert said[0] == said[1]
    assert "step 8 could not be saved" in said[0]
    assert "File too large (rank 1)" in said[0]
    assert Checkpoints(run).steps() == [7]
    assert ranks.run(1, workers.load_spread, run, folder=tmp_path)[0][1] == {"seed": 5}
    assert hidden(run) == []


def saved_run(folder: Path, *steps: int, keep: int | None = 3) -> Checkpoints:
    checkpoints = Checkpoints(folder, keep)
    for step in steps:
        checkpoints.save(step, tensors(step), meta={"step": step})
    return checkpoints


def hidden(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.name.startswith(".") and p.name != ".lock")


def test_a_folder_that_is_not_there_has_no_checkpoint(tmp_path: Path) -> None:
    assert Checkpoints(tmp_path / "none").latest() is None
    assert not (tmp_path / "none").exists()


def test_the_newest_are_kept(tmp_path: Path) -> None:
    assert saved_run(tmp_path, 1, 2, 30, 4, keep=2).steps() == [4, 30]
    assert saved_run(tmp_path, 31, 1_000_000, keep=None).steps() == [4, 30, 31, 1_000_000]
    assert hidden(tmp_path) == []


def test_a_step_that_is_saved_again_replaces_the_first(tmp_path: Path) -> None:
    checkpoints = saved_run(tmp_path, 5, keep=1)
    checkpoints.save(5, tensors(6), meta={"again": True})
    loaded = tensors(0)
    assert checkpoints.load(5, loaded).meta == {"again": True}
    assert same(loaded, tensors(6))
    assert hidden(tmp_path) == []


def test_one_put_aside_for_a_save_that_was_killed_is_still_there(tmp_path: Path) -> None:
    checkpoints = saved_run(tmp_path, 5, keep=1)
    checkpoints.path(5).rename(tmp_path / ".replaced-step-000005")
    loaded = tensors(0)
    assert checkpoints.latest() == 5
    assert checkpoints.load(5, loaded).meta == {"step": 5}
    checkpoints.save(6, tensors(6), meta={})
    assert checkpoints.steps() == [6]
    assert hidden(tmp_path) == []


def test_what_killed_saves_left_is_no_checkpoint_and_goes_with_the_next_save(tmp_path: Path) -> None:
    checkpoints = saved_run(tmp_path, 5)
    for left in (".saving-step-000009", ".deleting-step-000001"):
        (tmp_path / left).mkdir()
        (tmp_path / left / "__0_0.distcp").write_bytes(b"half")
    assert checkpoints.steps() == [5]
    checkpoints.save(6, tensors(6), meta={})
    assert hidden(tmp_path) == []


def refusal(checkpoints: Checkpoints, step: int, loaded: dict[str, Any], *, verify: bool = False) -> str:
    before = tensors(0)
    with pytest.raises(CheckpointError) as refused:
        checkpoints.load(step, loaded, verify=verify)
    if same(loaded.keys(), before.keys()):
        assert same(loaded, before), "a refused checkpoint must not touch the state"
    return str(refused.value)


@pytest.mark.parametrize("name", ["__0_0.distcp", ".metadata"])
@pytest.mark.parametrize("by", [-1, 1])
def test_a_file_of_another_size_is_refused_by_name(tmp_path: Path, name: str, by: int) -> None:
    checkpoints = saved_run(tmp_path, 5)
    file = checkpoints.path(5) / name
    os.truncate(file, file.stat().st_size + by)
    with pytest.raises(CheckpointError, match=rf"{name} is truncated or changed: \d+ bytes where \d+"):
        checkpoints.read(5)
    assert name in refusal(checkpoints, 5, tensors(0))


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    checkpoints = saved_run(tmp_path, 5)
    (checkpoints.path(5) / "__0_0.distcp").unlink()
    assert "__0_0.distcp is missing" in refusal(checkpoints, 5, tensors(0))


def test_a_flipped_bit_is_found_where_checksums_are_asked_for(tmp_path: Path) -> None:
    checkpoints = saved_run(tmp_path, 5)
    file = checkpoints.path(5) / "__0_0.distcp"
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert "__0_0.distcp is damaged" in refusal(checkpoints, 5, tensors(0), verify=True)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "it has no manifest.json"),
        ("", "manifest.json cannot be read"),
        ("[]", "says nothing of gridstride-checkpoint"),
        ('{"format": "other"}', "says nothing of gridstride-checkpoint"),
        ('{"format": "gridstride-checkpoint", "version": 9}', "has version 9"),
        ('{"format": "gridstride-checkpoint", "version": 1, "crc32": 0, "body": {}}', "changed after it was written"),
    ],
)
def test_a_foreign_or_damaged_folder_is_refused_by_name(tmp_path: Path, content: str | None, words: str) -> None:
    checkpoints = saved_run(tmp_path, 5)
    file = checkpoints.path(5) / "manifest.json"
    file.unlink() if content is None else file.write_text(content)
    message = refusal(checkpoints, 5, tensors(0))
    assert words in message
    assert "step-000005" in message


def test_an_edited_manifest_is_refused(tmp_path: Path) -> None:
    checkpoints = saved_run(tmp_path, 5)
    file = checkpoints.path(5) / "manifest.json"
    whole = json.loads(file.read_text())
    whole["body"]["meta"]["step"] = 6
    file.write_text(json.dumps(whole))
    assert "changed after it was written" in refusal(checkpoints, 5, tensors(0))


def test_a_renamed_checkpoint_is_refused(tmp_path: Path) -> None:
    checkpoints = saved_run(tmp_path, 5)
    checkpoints.path(5).rename(tmp_path / "step-000006")
    assert "holds step 5" in refusal(checkpoints, 6, tensors(0))


def test_a_step_that_was_not_saved_is_refused_with_those_there_are(tmp_path: Path) -> None:
    assert "no checkpoint of step 7: there are 5, 6" in refusal(saved_run(tmp_path, 5, 6), 7, tensors(0))
    assert "there is none at all" in refusal(Checkpoints(tmp_path / "new"), 7, tensors(0))


def another(change: str) -> dict[str, Any]:
    other = tensors(0)
    model = other["model"]
    if change == "more":
        model["c"] = torch.zeros(1)
    elif change == "fewer":
        del model["b"]
    elif change == "shape":
        model["a"] = torch.zeros(7, 5)
    else:
        model["b"] = model["b"].float()
    return other


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("more", "it lacks model.c"),
        ("fewer", "it has a surplus model.b"),
        ("shape", r"model.a was saved as torch.float32 \[5, 7\], here it is torch.float32 \[7, 5\]"),
        ("dtype", r"model.b was saved as torch.bfloat16 \[3\], here it is torch.float32 \[3\]"),
    ],
)
def test_another_models_checkpoint_is_refused_by_the_first_name(tmp_path: Path, change: str, words: str) -> None:
    checkpoints = saved_run(tmp_path, 5)
    state = another(change)
    with pytest.raises(CheckpointError, match=words):
        checkpoints.load(5, state)
    assert same(state, another(change))


@pytest.mark.parametrize("value", [(1, 2), {1: 2}, float, object(), {"deep": {"er": (1,)}}])
def test_meta_that_would_not_come_back_exactly_is_refused(tmp_path: Path, value: Any) -> None:
    with pytest.raises(CheckpointError, match=r"meta\['x'\].* cannot be kept exactly"):
        Checkpoints(tmp_path).save(1, tensors(1), meta={"x": value})
    assert Checkpoints(tmp_path).latest() is None


def test_keep_of_none_at_all_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="keep = 0"):
        Checkpoints(tmp_path, keep=0)


@pytest.fixture
def small_disk() -> Iterator[None]:
    """No file may grow beyond 64 KiB: the nearest to a full disk that needs no rights."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)


def test_a_save_that_the_disk_refuses_says_so_and_loses_nothing(tmp_path: Path, small_disk: None) -> None:
    checkpoints = saved_run(tmp_path, 5, keep=1)
    with pytest.raises(CheckpointError, match=r"step 6 could not be saved in .*: File too large.*before are kept"):
        checkpoints.save(6, {"model": {"a": torch.zeros(1 << 20)}}, meta={})
    assert checkpoints.steps() == [5]
    assert same(checkpoints.load(5, loaded := tensors(0)).meta, {"step": 5})
    assert same(loaded, tensors(5))
    assert hidden(tmp_path) == []


def test_a_folder_that_cannot_be_made_is_said_plainly(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match=r"step 1 could not be saved in .*/file/run: Not a directory"):
        Checkpoints(tmp_path / "file" / "run").save(1, tensors(1), meta={})


def test_two_runs_cannot_save_in_one_folder_at_once(tmp_path: Path) -> None:
    checkpoints = saved_run(tmp_path, 5)
    holder = subprocess.Popen(
        [sys.executable, "-c", LOCK, str(tmp_path / ".lock")], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    with holder:
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(CheckpointError, match="another run is saving there"):
            checkpoints.save(6, tensors(6), meta={})
        holder.stdin.close()
    assert checkpoints.steps() == [5]
    checkpoints.save(6, tensors(6), meta={})


LOCK = """
import fcntl, sys
lock = open(sys.argv[1], "w")
fcntl.lockf(lock, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""
