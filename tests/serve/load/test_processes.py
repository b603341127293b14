"""A load that several processes send."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scripted_server import Fake, serving

from gridstride.serve.load import processes
from gridstride.serve.load.client import RequestOptions
from gridstride.serve.load.errors import LoadError, ServerGone
from gridstride.serve.load.lengths import lengths
from gridstride.serve.load.load_run import Load, run
from gridstride.serve.load.processes import LoadShare, TargetOptions, processes_for, shares
from gridstride.serve.load.traffic import Planned

PLANNED = tuple(Planned((1, 2), 4, 0.1 * i, i) for i in range(10))


def share(concurrency: int | None) -> LoadShare:
    target = TargetOptions(url="http://127.0.0.1:9", key=None, timeout=1.0)
    return LoadShare(target, PLANNED, RequestOptions(model="fake"), concurrency)


def load(fake: Fake, **how: Any) -> dict[str, Any]:
    settings = {"requests": 9, "prompt_lengths": lengths("8"), "output_lengths": lengths("4"), "processes": 3} | how
    return asyncio.run(run(fake.url, Load(**settings)))


@pytest.mark.parametrize("concurrency", [1, 2, 3, 7, 10, 40])
def test_every_request_is_in_one_share_and_as_many_run_at_a_time_in_all(concurrency: int) -> None:
    parts = shares(share(concurrency), 3)
    assert sorted(request.seed for part in parts for request in part.planned) == list(range(10))
    assert sum(part.concurrency or 0 for part in parts) == concurrency
    assert all(part.concurrency for part in parts)


def test_requests_at_their_times_go_round() -> None:
    first, second = shares(share(None), 2)
    assert [request.at for request in first.planned] == pytest.approx([0.0, 0.2, 0.4, 0.6, 0.8])
    assert second.concurrency is None


def test_few_requests_come_from_one_process_and_half_the_processors_are_the_servers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(processes.os, "cpu_count", lambda: 16)
    assert [processes_for(count) for count in (0, 16, 127, 128, 256, 1024)] == [1, 1, 1, 2, 4, 8]


def test_several_processes_give_the_figures_of_one() -> None:
    told: list[tuple[int, int]] = []
    with serving() as fake:
        settings = Load(
            requests=9, concurrency=6, prompt_lengths=lengths("8"), output_lengths=lengths("4"), processes=3
        )
        made = asyncio.run(run(fake.url, settings, on_end=lambda *said: told.append(said)))
    assert (made["succeeded"], made["errors"], made["finish_reasons"]) == (9, {}, {"length": 9})
    assert (made["prompt_tokens"], made["output_tokens"], made["processes"]) == (72, 36, 3)
    assert len(fake.bodies) == 9
    assert told[-1] == (9, 9)


def test_requests_are_sent_at_their_times_by_all() -> None:
    with serving() as fake:
        made = load(fake, rate=20.0)
    assert made["succeeded"] == 9
    assert made["seconds"] > 0.2  # nine at 20 a second


def test_a_server_that_goes_away_is_said_once() -> None:
    with serving(leaves_after=2) as fake, pytest.raises(ServerGone, match="is gone"):
        load(fake, requests=90, concurrency=9)


def test_a_process_that_is_killed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    start = processes._Sender.start

    def killed(share: LoadShare) -> processes._Sender:
        sender = start(share)
        sender.process.kill()
        return sender

    monkeypatch.setattr(processes._Sender, "start", killed)
    with serving() as fake, pytest.raises(LoadError, match="ended with exit status -9"):
        load(fake, concurrency=9)
