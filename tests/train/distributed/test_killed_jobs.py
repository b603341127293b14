"""A job that loses a rank begins again by itself; one that is told to stop saves; both go on where they were saved."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import ranks
import workers

from gridstride.train.checkpoint.checkpoints import Checkpoints

pytestmark = [pytest.mark.timeout(1800), pytest.mark.slow]
EVERY = 5  # steps between checkpoints
ENDLESS, MORE = 100_000, 20  # steps of a job that does not end before it is stopped, and of what goes on with it
TOLERANCE = 5e-6  # of losses near 5 in fp32


@pytest.fixture
def job(tmp_path: Path) -> Iterator[Job]:
    job = Job(tmp_path)
    yield job
    job.end()


class Job:
    """`gridstride train --processes 2` on a small text, in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.run, self.folder, self.text = folder / "runs" / "two", folder, folder / "text"
        self.text.mkdir()
        for name in ("decoder", "encoder", "scanner"):
            source = Path(json.__file__).with_name(f"{name}.py").read_text()
            for part in range(4):  # several texts, as some are held out
                (self.text / f"{name}-{part}.py").write_text(source[part * 1000 :])
        self.process: subprocess.Popen[str] | None = None

    def begin(self, *words: str) -> None:
        command = [sys.executable, "-m", "gridstride", "train", *words, *self.changes("two")]
        self.process = subprocess.Popen(
            [*command, "--processes", "2", "--set", "parallel.mode=fsdp"],
            env=os.environ | {"OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def changes(self, name: str, *, steps: int = ENDLESS) -> list[str]:
        sizes = "width=16 layers=1 heads=2 kv_heads=2 head_width=8 hidden=32"
        run = f"minutes=0.0 steps={steps} batch=4 log_every=1 evaluate_every=0 precision=fp32"
        run += f" save_every={EVERY} save_minutes=0"
        changes = [f"model.{size}" for size in sizes.split()] + [f"run.{value}" for value in run.split()]
        changes += [f"run.folder={self.folder / 'runs'}", f"run.name={name}", f"data.source={self.text}"]
        changes += [
            "data.vocabulary=300",
            "data.sequence=16",
            "optimiser.kind=adamw",
            "optimiser.lr=0.001",
            "data.validation_share=0.3",
            "schedule.warmup=20",
            "schedule.decay_share=0.01",  # the rate stays, so that losses do not depend on how many steps are planned
        ]
        return [word for change in changes for word in ("--set", change)]

    def end(self) -> None:
        """By force where it has not ended; its ranks end with it."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill()

    def ended(self) -> tuple[int, str]:
        assert self.process is not None
        _, said = self.process.communicate(timeout=ranks.LONG)
        return self.process.returncode, said

    def ranks(self) -> list[int]:
        """Process numbers of the two ranks, once they are there."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        until(lambda: len(children.read_text().split()) == 2)
        return [int(number) for number in children.read_text().split()]

    def losses(self, name: str = "two") -> dict[int, float]:
        file = self.folder / "runs" / name / "log.jsonl"
        lines = file.read_text().splitlines() if file.exists() else []
        entries = [json.loads(line) for line in lines if line.endswith("}")]
        return {entry["step"]: entry["loss"] for entry in entries if "loss" in entry}

    def saved(self) -> int:
        return Checkpoints(self.run / "checkpoints").latest() or 0


def until(what: Callable[[], Any]) -> None:
    end = time.monotonic() + ranks.LONG
    while not what():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


@pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
def test_a_job_that_is_killed_and_stopped_goes_on_to_the_losses_of_one_that_is_not(job: Job, tmp_path: Path) -> None:
    job.begin()
    until(lambda: job.saved() >= EVERY)
    os.kill(job.ranks()[1], signal.SIGKILL)
    before = job.saved()
    until(lambda: job.saved() > before + EVERY)  # it has begun again by itself
    job.process.send_signal(signal.SIGTERM)
    code, said = job.ended()
    assert code == 0, said
    assert "rank 1 was killed (SIGKILL); beginning again from the last checkpoint" in said
    stopped = job.saved()
    assert stopped == max(job.losses()), "the step at which all ranks stopped was saved"

    steps = stopped + MORE
    again = ["--resume", *job.changes("two", steps=steps), "--set", "parallel.mode=none"]
    ranks.run(1, workers.trained, again, folder=tmp_path)
    ranks.run(1, workers.trained, job.changes("alone", steps=steps), folder=tmp_path)
    expected = job.losses("alone")
    assert list(expected) == list(range(1, steps + 1))
    assert job.losses() == pytest.approx(expected, abs=TOLERANCE)


def test_a_tensor_parallel_run_goes_on_at_another_degree(job: Job, tmp_path: Path) -> None:
    """Two processes that share each matrix begin, one that has them whole goes on."""
    job.begin("--set", "parallel.tensor=2")
    until(lambda: job.saved() >= EVERY)
    assert job.process is not None
    job.process.send_signal(signal.SIGTERM)
    code, said = job.ended()
    assert code == 0, said
    steps = job.saved() + MORE
    whole = ["--set", "parallel.mode=none", "--set", "parallel.tensor=1"]
    ranks.run(1, workers.trained, ["--resume", *job.changes("two", steps=steps), *whole], folder=tmp_path)
    ranks.run(1, workers.trained, job.changes("alone", steps=steps), folder=tmp_path)
    expected = job.losses("alone")
    assert list(expected) == list(range(1, steps + 1))
    assert job.losses() == pytest.approx(expected, abs=TOLERANCE)
