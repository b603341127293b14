"""How many threads a step gets on a CPU: nearly always the number that is fastest, also once that has changed."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from tiny import write_model

from gridstride.serve.runner import build
from gridstride.serve.runner.torch.threads import Threads


class Machine:
    """Steps take so many seconds a token with so many threads; another process may come."""

    def __init__(self, quiet: dict[int, float], busy: dict[int, float]) -> None:
        self.quiet, self.busy, self.beside = quiet, busy, False
        self.now, self.threads = 0.0, 0
        self.chooser = Threads(sorted(quiet), clock=lambda: self.now, use=self.use)

    def use(self, threads: int) -> None:
        self.threads = threads

    @property
    def seconds(self) -> dict[int, float]:
        return self.busy if self.beside else self.quiet

    def speed(self, seconds: float, tokens: int = 8) -> float:
        """Tokens per second of the best fixed number that are reached, as a share."""
        start, done = self.now, 0
        while self.now - start < seconds:
            with self.chooser.step(tokens):
                self.now += tokens * self.seconds[self.threads]
            done += tokens
        return done * min(self.seconds.values()) / (self.now - start)


SPINNING = {1: 0.0002, 2: 0.008}  # two threads that wait for each other beside another process
MACHINES = [
    Machine({1: 0.0002, 2: 0.00012}, SPINNING),
    Machine({1: 0.0001, 2: 0.0002}, {1: 0.0002, 2: 0.0001}),
    Machine(
        {1: 0.0008, 2: 0.0004, 4: 0.0002, 8: 0.0001, 16: 0.00015}, {1: 0.0008, 2: 0.0005, 4: 0.002, 8: 0.01, 16: 1}
    ),
]


@pytest.mark.parametrize("machine", MACHINES)
def test_never_worse_than_nine_tenths_of_the_best_fixed_number(machine: Machine) -> None:
    for machine.beside in (False, True, False, True):
        machine.speed(15.0)  # it notices
        assert machine.speed(60.0) > 0.9


def test_another_process_is_noticed_within_seconds() -> None:
    machine = Machine({1: 0.0002, 2: 0.00012}, SPINNING)
    machine.speed(20.0)
    machine.beside = True
    machine.speed(5.0)
    assert machine.speed(20.0) > 0.9


def test_sizes_have_numbers_of_their_own() -> None:
    chooser = Threads((1, 2), clock=lambda: machine.now, use=lambda count: machine.use(count))
    machine = Machine({1: 0.0, 2: 0.0}, {})
    costs = {(1, 8): 0.001, (2, 8): 0.002, (1, 512): 0.1, (2, 512): 0.05}
    used: dict[int, list[int]] = {8: [], 512: []}
    for _ in range(2000):
        for tokens in used:
            with chooser.step(tokens):
                machine.now += costs[machine.threads, tokens]
            used[tokens].append(machine.threads)
    assert used[8].count(1) > 1800
    assert used[512].count(2) > 1600


def test_a_step_that_raises_counts_for_nothing() -> None:
    machine = Machine({1: 0.001, 2: 0.001}, {})
    with pytest.raises(RuntimeError), machine.chooser.step(8):
        raise RuntimeError
    assert machine.speed(5.0) > 0.9


@pytest.mark.parametrize(("environment", "chosen"), [({}, True), ({"OMP_NUM_THREADS": "2"}, False)])
def test_a_number_that_the_user_gave_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], chosen: bool
) -> None:
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    made = build.runner(write_model(tmp_path), build.RunnerOptions(device="cpu", memory=1 << 20))
    assert (made._threads is not None) == chosen  # type: ignore[attr-defined]
