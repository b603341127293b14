"""How many threads a run's operators get: what is fastest beside the machine's other work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from small import Show, trainer

from gridstride.train import trainer as training
from gridstride.train.loop import TrainingLoop
from gridstride.train.optim import speed
from gridstride.train.optim.threads import fastest


class Machine:
    """A processor on which a piece of work takes so many seconds with so many threads."""

    def __init__(self, **seconds: float) -> None:
        self.seconds = {int(name.removeprefix("t")): each for name, each in seconds.items()}
        self.now, self.threads, self.calls = 0.0, 0, 0

    def use(self, threads: int) -> None:
        self.threads = threads

    def work(self) -> None:
        self.calls += 1
        self.now += self.seconds[self.threads] * (20 if self.calls <= len(self.seconds) else 1)  # the first loads

    def fastest(self, now: int | None = None) -> int:
        chosen = fastest(self.work, sorted(self.seconds), now=now, clock=lambda: self.now, use=self.use)
        assert self.threads == chosen
        return chosen


@pytest.mark.parametrize(
    ("machine", "chosen"),
    [
        (Machine(t1=0.1, t2=0.06), 2),
        (Machine(t1=0.1, t2=0.9), 1),
        (Machine(t1=0.004, t2=0.003, t4=0.002, t8=0.03), 4),
    ],
)
def test_what_is_fastest_is_chosen(machine: Machine, chosen: int) -> None:
    assert machine.fastest() == chosen


@pytest.mark.parametrize(("other", "chosen"), [(0.095, 2), (0.08, 1)])
def test_only_what_is_clearly_faster_replaces_what_runs(other: float, chosen: int) -> None:
    assert Machine(t1=other, t2=0.1).fastest(now=2) == chosen


def test_one_hiccup_decides_nothing() -> None:
    machine = Machine(t1=0.1, t2=0.08)
    plain = machine.work

    def work() -> None:
        plain()
        machine.now += 5.0 if machine.calls == 5 else 0.0

    machine.work = work  # type: ignore[method-assign]
    assert machine.fastest() == 2


def test_a_slow_step_is_not_tried_for_long() -> None:
    machine = Machine(t1=10.0, t2=8.0)
    machine.fastest()
    assert machine.calls <= 6


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Numbers of threads that measurements will find, one after the other; a machine of four cores."""
    answers: list[int] = []

    def find(work: object, counts: object, *, now: int | None = None) -> int:
        torch.set_num_threads(answers.pop(0))
        return torch.get_num_threads()

    before = torch.get_num_threads()
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    monkeypatch.setattr(training, "fastest", find)
    monkeypatch.setattr(training, "_THREADS_STAY", 0.0)
    monkeypatch.setattr(training, "_THREADS_REST", 0)
    monkeypatch.setattr(speed, "peak", lambda *_: (1e12, "a machine"))
    torch.set_num_threads(4)
    yield answers  # type: ignore[misc]
    torch.set_num_threads(before)


def test_it_is_looked_at_again_with_each_checkpoint(tmp_path: Path, measured: list[int]) -> None:
    measured += [1, 3, 2]
    made, used = trainer(tmp_path), list[int]()
    step = made.step

    def noted() -> training.Stepped:
        used.append(torch.get_num_threads())
        return step()

    made.step = noted  # type: ignore[method-assign]
    TrainingLoop(made, Show()).run()
    assert used == [1] * 5 + [3] * 5 + [2] * 2


def test_a_run_that_goes_on_has_the_threads_of_its_checkpoint(tmp_path: Path, measured: list[int]) -> None:
    measured += [1, 3, 2]
    TrainingLoop(
        trainer(tmp_path), Show(), stopped=iter([False] * 6 + [True] * 9).__next__
    ).run()  # step 7 is saved, with 3
    torch.set_num_threads(4)
    measured[:] = [1]
    trainer(tmp_path, resume=True)
    assert torch.get_num_threads() == 3


def test_measuring_takes_a_small_share_of_the_time(
    tmp_path: Path, measured: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes 3 s here: once in two minutes."""
    now, found = [0.0], [0]

    def find(*_: object, **__: object) -> None:
        now[0] += 3.0
        found[0] += 1

    made = trainer(tmp_path, "run.threads=1")
    monkeypatch.setattr(training, "fastest", find)
    monkeypatch.setattr(training, "_THREADS_REST", 40)
    monkeypatch.setattr(training.time, "monotonic", lambda: now[0])
    made.config = replace(made.config, run=replace(made.config.run, threads=0))
    for _ in range(1000):
        now[0] += 1.0
        made.choose_threads()
    assert 7 <= found[0] <= 9


def test_a_measurement_changes_no_loss(tmp_path: Path) -> None:
    changes = ("model.dropout=0.3", "run.threads=1")
    plain, tried = trainer(tmp_path / "plain", *changes), trainer(tmp_path / "tried", *changes)
    losses = []
    for made in (plain, tried):
        torch.manual_seed(3)
        for _ in range(3):
            if made is tried:
                made._tried()
            losses.append(made.step().loss.item())
    assert losses[:3] == losses[3:]


def test_a_number_that_was_asked_for_is_used(tmp_path: Path, measured: list[int]) -> None:
    trainer(tmp_path, "run.threads=2")
    assert torch.get_num_threads() == 2
