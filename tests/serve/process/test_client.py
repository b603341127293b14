"""The engine's client against a scripted engine: who gets what, what is refused, and that nothing stays behind."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from gridstride.serve.engine.messages import Abort, Finish, Stats, Submit, Update
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.process.client import Client, Lost, RequestRefused, SequenceRequest, SequenceStream, Unavailable
from gridstride.serve.process.protocol import Accepted, Ready, Rejected

READY = Ready(context=64, blocks=8, block_size=8, vocabulary=100, max_running=2, device="none")


class Seen:
    """An observer that remembers."""

    def __init__(self) -> None:
        self.ends: list[tuple[str, Finish]] = []
        self.taken = 0

    def connected(self, ready: Ready) -> None: ...
    def stepped(self, stats: Stats) -> None: ...
    def restarted(self) -> None: ...
    def updated(self, stream: SequenceStream, update: Update, now: float) -> None: ...
    def accepted(self, stream: SequenceStream) -> None:
        self.taken += 1

    def ended(self, stream: SequenceStream, finish: Finish, now: float) -> None:
        self.ends.append((stream.id, finish))


class Bench:
    """A client with two places to run and one to wait, connected to nobody but this test."""

    def __init__(self) -> None:
        self.seen, self.sent = Seen(), list[Any]()
        self.client = Client(self.seen, max_queue=1)
        self.client.connect(READY, self.sent.extend)

    def wanted(self, *ids: str) -> list[SequenceRequest]:
        return [SequenceRequest(id, (1, 2), Sampling()) for id in ids]


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 60))


def test_updates_reach_the_sequence_that_they_are_for() -> None:
    async def work() -> None:
        bench = Bench()
        group = bench.client.submit(bench.wanted("a", "b"))
        assert [message.id for message in bench.sent if isinstance(message, Submit)] == ["a", "b"]
        bench.client.deliver([Accepted("b"), Accepted("a"), Update(id="b", tokens=(7,))])
        await group.accepted()
        assert await group.take() == [(1, Update(id="b", tokens=(7,)))]

    run(work())


def test_what_piles_up_comes_at_once_and_in_order() -> None:
    async def work() -> None:
        bench = Bench()
        group = bench.client.submit(bench.wanted("a"))
        for token in range(5):
            bench.client.deliver([Update(id="a", tokens=(token,))])
        assert await group.take() == [(0, Update(id="a", tokens=(0, 1, 2, 3, 4)))]

    run(work())


def test_a_refusal_is_the_requests_own() -> None:
    async def work() -> None:
        bench = Bench()
        bad, good = bench.client.submit(bench.wanted("bad")), bench.client.submit(bench.wanted("good"))
        bench.client.deliver([Rejected("bad", "no such schema", "schema"), Accepted("good")])
        with pytest.raises(RequestRefused, match="no such schema") as refused:
            await bad.accepted()
        assert refused.value.field == "schema"
        await good.accepted()
        assert bench.client.in_flight == 1

    run(work())


def test_an_end_of_the_process_ends_everything_that_it_had() -> None:
    async def work() -> None:
        bench = Bench()
        waits, runs = bench.client.submit(bench.wanted("waits")), bench.client.submit(bench.wanted("runs"))
        bench.client.deliver([Accepted("runs"), Update(id="runs", tokens=(1,))])
        bench.client.disconnect("it was killed")
        with pytest.raises(Lost, match="killed"):
            await waits.accepted()
        assert len(await runs.take()) == 1  # what had come is not taken away
        with pytest.raises(Lost):
            await runs.take()
        assert bench.client.in_flight == 0
        assert sorted(bench.seen.ends) == [("runs", "error"), ("waits", "error")]
        with pytest.raises(Unavailable):
            bench.client.submit(bench.wanted("later"))

    run(work())


def test_closing_tells_the_engine_once() -> None:
    async def work() -> None:
        bench = Bench()
        group = bench.client.submit(bench.wanted("a", "b"))
        for _ in range(2):
            group.close(0, "stop")
            group.close_all()
        assert [message for message in bench.sent if isinstance(message, Abort)] == [Abort("a"), Abort("b")]
        assert bench.seen.ends == [("a", "stop"), ("b", "abort")]
        bench.client.deliver([Update(id="a", tokens=(1,)), Accepted("b")])  # they were on their way
        assert bench.client.in_flight == 0

    run(work())


def test_closing_what_has_ended_does_nothing() -> None:
    async def work() -> None:
        bench = Bench()
        group = bench.client.submit(bench.wanted("a"))
        bench.client.deliver([Accepted("a"), Update(id="a", finish="length")])
        group.close_all()
        assert bench.seen.ends == [("a", "length")]
        assert not any(isinstance(message, Abort) for message in bench.sent)

    run(work())


def test_more_than_run_and_wait_are_turned_away_whole() -> None:
    async def work() -> None:
        bench = Bench()
        bench.client.submit(bench.wanted("a", "b"))
        with pytest.raises(Unavailable, match="at most 3") as busy:
            bench.client.submit(bench.wanted("c", "d"))
        assert busy.value.retry_after > 0
        bench.client.submit(bench.wanted("c"))
        assert bench.client.room == 0

    run(work())
