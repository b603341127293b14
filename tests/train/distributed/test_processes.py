"""A job of several processes ends as one: done, stopped, or with the one message that says why."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import ranks
import workers

from gridstride.cli import main

pytestmark = pytest.mark.timeout(900)


def launched(scene: str, folder: Path) -> tuple[str, str, list[str]]:
    kind, words, said, printed = ranks.run(1, workers.launched, scene, folder, 60, folder=folder)[0]
    assert printed == "", "what a job has to say is said by who began it"
    return kind, words, said


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if not path.name.startswith(".")}


def until(what: Callable[[], Any]) -> None:
    end = time.monotonic() + ranks.LONG
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_a_job_is_done_when_all_its_ranks_are(tmp_path: Path) -> None:
    assert launched("fine", tmp_path) == ("", "", [])
    assert files(tmp_path) == {"rank-0-of-2", "rank-1-of-2"}


def test_a_ranks_error_is_the_jobs_one_message(tmp_path: Path) -> None:
    kind, words, said = launched("error", tmp_path)
    assert (kind, words) == ("TrainFailed", "rank 1: ZeroDivisionError: by nothing (job.py:33)")
    assert said == [], "a rank's own error is not tried again"


def test_what_all_ranks_refuse_is_said_once(tmp_path: Path) -> None:
    assert launched("refused", tmp_path) == ("TrainError", "config: heads = 3", [])


def test_a_failure_keeps_its_words(tmp_path: Path) -> None:
    kind, words, _ = launched("failed", tmp_path)
    assert kind == "TrainFailed"
    assert words in {f"rank {rank}: the disk is full, says {rank}" for rank in (0, 1)}


def test_a_job_that_loses_a_rank_begins_again(tmp_path: Path) -> None:
    again = "rank 1 was killed (SIGKILL); beginning again from the last checkpoint"
    assert launched("killed_once", tmp_path) == ("", "", [again])
    assert files(tmp_path) == {"rank-0-of-2", "rank-1-of-2"}


def test_a_job_that_loses_ranks_again_and_again_ends(tmp_path: Path) -> None:
    kind, words, said = launched("killed_always", tmp_path)
    assert (kind, len(said)) == ("TrainFailed", 1)
    assert words == "rank 1 was killed (SIGKILL), the last of 2 times. The checkpoints are kept"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_goes_to_all_ranks_and_the_job_ends_well(tmp_path: Path, number: signal.Signals) -> None:
    (agent,), (end,) = ranks.start(1, workers.launched, "stopped", tmp_path, 60, folder=tmp_path)
    until(lambda: {"ready-0", "ready-1"} <= files(tmp_path))
    os.kill(agent.pid, number)
    assert ranks.told(end) == ("", "", [], "")
    assert {f"saved-0-{number.name}", f"saved-1-{number.name}"} <= files(tmp_path)


def test_ranks_that_cannot_end_in_time_are_ended_and_it_is_said(tmp_path: Path) -> None:
    (agent,), (end,) = ranks.start(1, workers.launched, "too_slow", tmp_path, 1, folder=tmp_path)
    until(lambda: {"ready-0", "ready-1"} <= files(tmp_path))
    os.kill(agent.pid, signal.SIGTERM)
    kind, words, *_ = ranks.told(end)
    said = "SIGTERM: not all ranks had saved and ended within 1 s. The checkpoints before are kept"
    assert (kind, words) == ("TrainFailed", said)


def test_ranks_whose_agent_is_killed_are_told_to_save_and_end(tmp_path: Path) -> None:
    (agent,), _ = ranks.start(1, workers.launched, "stopped", tmp_path, 60, folder=tmp_path)
    until(lambda: {"ready-0", "ready-1"} <= files(tmp_path))
    agent.kill()
    until(lambda: {"saved-0-SIGTERM", "saved-1-SIGTERM"} <= files(tmp_path))


def as_torchrun_begins(scene: str, folder: Path, rank: int) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GRIDSTRIDE_")}
    given = {"RANK": str(rank), "WORLD_SIZE": "2", "TORCHELASTIC_ERROR_FILE": str(folder / f"error-{rank}.json")}
    command = [sys.executable, str(Path(workers.__file__).with_name("job.py")), scene, str(folder)]
    return subprocess.run(command, env=clean | given, capture_output=True, text=True, timeout=ranks.LONG)


@pytest.mark.parametrize("rank", [0, 1])
def test_under_torchrun_the_first_rank_says_what_all_refuse(tmp_path: Path, rank: int) -> None:
    done = as_torchrun_begins("refused", tmp_path, rank)
    assert (done.returncode, done.stderr) == (2, "error: config: heads = 3\n" if rank == 0 else "")
    told = json.loads((tmp_path / f"error-{rank}.json").read_text())
    assert told["message"]["message"] == "config: heads = 3"


def test_under_torchrun_a_rank_says_its_own_error(tmp_path: Path) -> None:
    done = as_torchrun_begins("error", tmp_path, 1)
    assert (done.returncode, done.stderr) == (1, "error: ZeroDivisionError: by nothing (job.py:33)\n")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["parallel.mode=ddp", "run.batch=16"], "a batch of 16 sequences does not split over 3 ranks"),
        (["parallel.tensor=3", "optimiser.kind=adamw"], "no multiple of parallel.tensor = 3"),
        ([], "3 processes, but parallel.mode = 'none' has work for 1"),
    ],
)
def test_processes_that_make_no_sense_are_refused_before_they_begin(
    changes: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["train", "--processes", "3", *(word for change in changes for word in ("--set", change))])
    assert ended.value.code == 2
    errors = capfd.readouterr().err
    assert said in errors
    assert errors.count("\n") == 1, "one line"
