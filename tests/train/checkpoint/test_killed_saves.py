"""A rank that is killed at any change it makes to the file system leaves every complete checkpoint as it was."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import ranks
import torch
import workers

from gridstride.train.checkpoint.checkpoints import Checkpoints


def killed(world: int, rank: int, at: int, folder: Path, tmp_path: Path) -> bool:
    """Whether the rank came as far as its `at`-th change; the others must then end by themselves or be ended."""
    processes, ends = ranks.start(world, workers.save_until_killed, folder, at, rank, folder=tmp_path)
    processes[rank].join(ranks.LONG)
    code = processes[rank].exitcode
    for end in ends:
        end.close()
    ranks.stop(processes)
    assert code in (0, -signal.SIGKILL)
    return code != 0


def complete(folder: Path) -> int:
    """The newest checkpoint's step, once it is sure that it can be loaded and holds what was saved."""
    checkpoints = Checkpoints(folder)
    step = checkpoints.latest()
    assert step is not None, "the checkpoint that was there before is lost"
    state = workers.spread(0)
    found = checkpoints.load(step, state, verify=True)
    expected = workers.spread(found.meta["seed"])
    assert all(torch.equal(torch.as_tensor(state[name]), torch.as_tensor(expected[name])) for name in state)
    return step


@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("world", "rank", "before"),
    [(1, 0, 1), (1, 0, 2), (2, 0, 1), (2, 1, 1)],
    ids=["alone", "alone-over-the-same-step", "first-of-two", "second-of-two"],
)
def test_a_rank_killed_anywhere_in_a_save_loses_nothing(tmp_path: Path, world: int, rank: int, before: int) -> None:
    kills, seen = 0, set()
    for at in range(1, 100):
        folder = tmp_path / f"run-{at}"
        Checkpoints(folder).save(before, workers.spread(1), meta={"seed": 1})
        if not killed(world, rank, at, folder, tmp_path):
            break
        kills += 1
        seen.add(complete(folder))
        Checkpoints(folder, keep=1).save(3, workers.spread(3), meta={"seed": 3})
        assert complete(folder) == 3
        assert {path.name for path in folder.iterdir()} == {".lock", "step-000003"}, "leftovers must go"
    assert complete(folder) == 2, "the save that was not killed must be there"
    assert kills >= (10 if rank == 0 else 1)
    assert seen == ({1, 2} if before == 1 and rank == 0 else {before})
