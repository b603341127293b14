"""Real engine processes, over a runner that counts: they are started, restarted, ended, and never left behind."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest
from fake_engine import DIES, FAILS, HANGS

from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.http.metrics import Metrics
from gridstride.serve.process.child import EngineProcess
from gridstride.serve.process.client import Client, Lost, SequenceRequest, Unavailable
from gridstride.serve.process.health import trouble
from gridstride.serve.process.protocol import Build
from gridstride.serve.process.supervisor import NoEngine, Supervisor
from gridstride.serve.process.worker import BROKEN

PATIENCE = 100.0  # seconds, on a machine with much else to do


class Bench:
    def __init__(self, **options: Any) -> None:
        build = Build(factory="fake_engine:build", options=options)
        self.metrics = Metrics("fake")
        self.client = Client(self.metrics, max_queue=100)
        self.supervisor = Supervisor(build, self.client, self.metrics, first=EngineProcess(build))

    async def generate(self, *prompt: int, max_tokens: int = 4) -> list[int]:
        group = self.client.submit([SequenceRequest(os.urandom(4).hex(), prompt, Sampling(max_tokens=max_tokens))])
        tokens: list[int] = []
        while True:
            for _, update in await group.take():
                tokens += update.tokens
                if update.finish == "error":
                    raise RuntimeError(update.error)
                if update.finish is not None:
                    return tokens

    def counted(self, name: str) -> float:
        lines = self.metrics.text().decode().splitlines()
        return float(next(line for line in lines if line.startswith(f"gridstride:{name}{{")).split()[-1])


@contextlib.asynccontextmanager
async def running(**options: Any) -> AsyncIterator[Bench]:
    bench = Bench(**options)
    task = asyncio.create_task(bench.supervisor.run())
    try:
        await asyncio.wait_for(bench.supervisor.first_ready.wait(), PATIENCE)
        yield bench
    finally:
        await bench.supervisor.stop()
        await asyncio.wait_for(task, PATIENCE)
        assert gone(bench.supervisor.pid)


async def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        await asyncio.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] == "Z"  # ended; nobody has asked how yet
    except FileNotFoundError:
        return True


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(work)


def test_tokens_come_from_the_process(capfd: pytest.CaptureFixture[str]) -> None:
    async def work() -> None:
        async with running() as bench:
            assert await bench.generate(10, 11, max_tokens=3) == [12, 13, 14]
            assert bench.supervisor.pid != os.getpid()
            assert trouble(bench.supervisor, bench.client, stall_after=PATIENCE) is None

    run(work())
    said = capfd.readouterr()
    assert "what a library has to say" in said.err
    assert said.out == ""


def test_what_one_request_does_to_the_engine_is_its_own_affair() -> None:
    async def work() -> None:
        async with running(delay=0.01) as bench:
            other = asyncio.create_task(bench.generate(10, max_tokens=50))
            with pytest.raises(RuntimeError, match="a kernel that does not exist"):
                await bench.generate(FAILS)
            assert await other == list(range(11, 61))

    run(work())


def test_a_killed_engine_is_started_again_and_its_requests_end() -> None:
    async def work() -> None:
        async with running(delay=0.05) as bench:  # nothing ends before the engine does
            first = bench.supervisor.pid
            lost = [asyncio.create_task(bench.generate(10, max_tokens=100)) for _ in range(12)]
            await until(lambda: bench.counted("generation_tokens_total") > 0)
            os.kill(first, signal.SIGKILL)
            for outcome in await asyncio.gather(*lost, return_exceptions=True):
                assert isinstance(outcome, Lost)
            assert "engine is" in (trouble(bench.supervisor, bench.client, stall_after=PATIENCE) or "")
            with pytest.raises(Unavailable):
                bench.client.submit([])
            await until(lambda: bench.supervisor.state == "ready")
            assert bench.supervisor.pid != first
            assert await bench.generate(10) == [11, 12, 13, 14]
            assert bench.counted("engine_restarts_total") == 1
            assert bench.client.in_flight == 0

    run(work())


def test_an_engine_whose_every_step_fails_is_started_again() -> None:
    async def work() -> None:
        async with running() as bench:
            first = bench.supervisor.pid
            for _ in range(BROKEN):
                with pytest.raises(RuntimeError, match="a kernel that does not exist"):
                    await bench.generate(FAILS)
            await until(lambda: bench.supervisor.pid != first and bench.supervisor.state == "ready")
            assert await bench.generate(10) == [11, 12, 13, 14]

    run(work())


def test_failures_between_steps_that_succeed_end_no_engine() -> None:
    async def work() -> None:
        async with running() as bench:
            first = bench.supervisor.pid
            for _ in range(BROKEN):
                with pytest.raises(RuntimeError, match="a kernel that does not exist"):
                    await bench.generate(FAILS)
                await bench.generate(10)
            assert bench.supervisor.pid == first

    run(work())


def test_pauses_before_restarts_grow(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        async with running() as bench:
            for restarts in (1, 2):
                with pytest.raises(Lost):
                    await bench.generate(DIES)
                await until(lambda n=restarts: bench.counted("engine_restarts_total") == n)  # type: ignore[misc]
                await until(lambda: bench.supervisor.state == "ready")

    run(work())
    pauses = [record.args for record in caplog.records if "another one starts" in record.message]
    assert [pause[-1] for pause in pauses] == [0.5, 1.0]  # type: ignore[index]
    assert "SIGKILL" in caplog.text


def test_a_machine_without_room_for_a_process_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def work() -> None:
        async with running() as bench:
            with monkeypatch.context() as patch:
                patch.setattr(subprocess, "Popen", no_room)
                os.kill(bench.supervisor.pid, signal.SIGKILL)
                await until(lambda: "no process can be started" in caplog.text)
            await until(lambda: bench.supervisor.state == "ready")
            assert await bench.generate(10, max_tokens=1) == [11]

    run(work())


def no_room(*_: Any, **__: Any) -> None:
    raise OSError(errno.EAGAIN, "Resource temporarily unavailable")


def test_an_engine_that_is_stuck_is_seen() -> None:
    async def work() -> None:
        async with running() as bench:
            stuck = asyncio.create_task(bench.generate(HANGS))
            await until(lambda: trouble(bench.supervisor, bench.client, stall_after=0.2) is not None)
            os.kill(bench.supervisor.pid, signal.SIGKILL)
            with pytest.raises(Lost):
                await stuck

    run(work())


def test_an_idle_engine_says_that_it_lives() -> None:
    async def work() -> None:
        async with running() as bench:
            heard = bench.client.last_heard
            await until(lambda: bench.client.last_heard > heard)

    run(work())


def test_a_stopped_engine_is_missed() -> None:
    async def work() -> None:
        async with running() as bench:
            os.kill(bench.supervisor.pid, signal.SIGSTOP)
            await until(lambda: "not been heard" in (trouble(bench.supervisor, bench.client, stall_after=1.5) or ""))
            os.kill(bench.supervisor.pid, signal.SIGCONT)
            await until(lambda: trouble(bench.supervisor, bench.client, stall_after=1.5) is None)

    run(work())


def test_signals_for_the_whole_group_do_not_end_the_engine() -> None:
    async def work() -> None:
        async with running(delay=0.01) as bench:
            answer = asyncio.create_task(bench.generate(10, max_tokens=20))
            os.kill(bench.supervisor.pid, signal.SIGTERM)
            os.kill(bench.supervisor.pid, signal.SIGINT)
            assert len(await answer) == 20

    run(work())


@pytest.mark.parametrize(
    ("fault", "message", "expected"),
    [("refused", "made of cheese", True), ("broken", "a bug", False), ("exit", "exit status 7", False)],
)
def test_an_engine_that_cannot_be_made_is_told_of_and_not_tried_again(fault: str, message: str, expected: bool) -> None:
    async def work() -> None:
        bench = Bench(fault=fault)
        with pytest.raises(NoEngine, match=message) as none:
            await asyncio.wait_for(bench.supervisor.run(), PATIENCE)
        assert none.value.expected is expected
        assert gone(bench.supervisor.pid)

    run(work())


def test_no_engine_outlives_its_parent() -> None:
    """Whether it is idle or in the middle of a step that never ends."""
    code = f"""
import asyncio, sys
sys.path[:0] = {sys.path!r}
from test_supervisor import Bench, running
async def main():
    async with running() as bench:
        task = asyncio.create_task(bench.generate({HANGS}))
        await asyncio.sleep(0)
        print(bench.supervisor.pid, flush=True)
        await task
asyncio.run(main())
"""
    here = os.path.dirname(__file__)
    parent = subprocess.Popen(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {here!r}){code}"], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    engine = int(parent.stdout.readline())
    assert not gone(engine)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + PATIENCE
    while not gone(engine):
        assert time.monotonic() < deadline
        time.sleep(0.01)
