"""Jobs at work: judged in a process of their own, followed, cancelled, recorded once."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from gridstride.course.content import day
from gridstride.course.learner.progress import LearnerProgress
from gridstride.workbench.dispatch import Dispatcher, Live, verdict_of
from gridstride.workbench.jobs import Job, Jobs
from gridstride.workbench.store import Store

TABLE = day(1).solution.read_text()
ENDLESS = """// block: 32
// grid: 1
extern "C" __global__ void aos_to_soa(const float* records, float* fields, int n)
{
    while (n > 0) { if (records[0] == 12345.678f) break; }
}
"""


def served(mine: Path, scenario: Callable[[Dispatcher, Store], Coroutine[Any, Any, None]]) -> None:
    """Run a scenario with a queue at work."""

    async def main() -> None:
        store = Store(mine / "progress.sqlite")
        dispatcher = Dispatcher(store, slots=1)
        await dispatcher.start()
        try:
            async with asyncio.timeout(100):
                await scenario(dispatcher, store)
        finally:
            await dispatcher.stop()
            await store.close()

    asyncio.run(main())


async def ended(dispatcher: Dispatcher, store: Store, job: Job) -> Job:
    """The job when it has ended."""
    while job.id in dispatcher.live:
        await asyncio.sleep(0.02)
    found = await store.do(lambda progress: Jobs(progress).get(job.id))
    assert found is not None
    return found


async def begun(dispatcher: Dispatcher, job: Job, step: str = "") -> Live:
    """The job as it runs, once it has come to a step."""
    while step not in (live := dispatcher.live[job.id]).step or not live.steps:
        await asyncio.sleep(0.02)
    return live


def test_a_verdict_is_kept_with_the_job_and_in_the_learners_record(mine: Path) -> None:
    async def scenario(dispatcher: Dispatcher, store: Store) -> None:
        job = await ended(dispatcher, store, await dispatcher.add("a", "judge", 1, TABLE))
        assert (job.state, job.outcome["verdict"]["verdict"]) == ("done", "pass")
        wrong = await ended(dispatcher, store, await dispatcher.add("a", "judge", 1, TABLE.replace("6912", '""')))
        assert wrong.outcome["verdict"]["findings"][0]["kind"] == "empty_cell"

    served(mine, scenario)
    with LearnerProgress(mine / "progress.sqlite") as progress:
        passed, failed = progress.runs(1)
    assert (passed.passed, passed.source, failed.passed, failed.finding) == (True, TABLE, False, "empty_cell")


def test_a_run_is_cancelled_and_the_next_one_goes_on(mine: Path) -> None:
    async def scenario(dispatcher: Dispatcher, store: Store) -> None:
        endless = await dispatcher.add("a", "judge", 5, ENDLESS)
        waiting = await dispatcher.add("a", "judge", 1, TABLE)
        last = await dispatcher.add("a", "judge", 1, TABLE)
        await begun(dispatcher, endless, "n=")
        await dispatcher.cancel(waiting.id)
        await dispatcher.cancel(endless.id)
        states = [(await ended(dispatcher, store, each)).state for each in (endless, waiting, last)]
        assert states == ["cancelled", "cancelled", "done"]

    served(mine, scenario)
    with LearnerProgress(mine / "progress.sqlite") as progress:
        assert [run.day for run in progress.runs()] == [1]


def test_a_judge_that_is_killed_fails_its_job_alone(mine: Path) -> None:
    async def scenario(dispatcher: Dispatcher, store: Store) -> None:
        job = await dispatcher.add("a", "judge", 5, ENDLESS)
        live = await begun(dispatcher, job, "n=")
        assert live.process is not None
        process = live.process._process
        assert process is not None
        os.kill(process.pid, signal.SIGKILL)
        failed = await ended(dispatcher, store, job)
        assert failed.state == "failed"
        assert "ended (SIGKILL): run it again" in failed.outcome["error"]
        assert (await ended(dispatcher, store, await dispatcher.add("a", "judge", 1, TABLE))).state == "done"

    served(mine, scenario)


def test_what_is_no_lab_fails_its_job_with_the_reason(mine: Path) -> None:
    async def scenario(dispatcher: Dispatcher, store: Store) -> None:
        failed = await ended(dispatcher, store, await dispatcher.add("a", "explain", 1, TABLE))
        assert failed.state == "failed"
        assert failed.outcome["error"]

    served(mine, scenario)


def test_pictures_are_the_page_of_the_report(mine: Path) -> None:
    async def scenario(dispatcher: Dispatcher, store: Store) -> None:
        source = day(5).solution.read_text()
        job = await ended(dispatcher, store, await dispatcher.add("a", "explain", 5, source))
        page = await store.do(lambda progress: Jobs(progress).report(job.id))
        assert page is not None
        for part in ("Speed of light", "What a warp touches", "Occupancy", "Rooflines", "--h:"):
            assert part in page

    served(mine, scenario)


def test_what_a_kernel_prints_is_shown_with_its_verdict_as_far_as_it_fits(mine: Path) -> None:
    loud = ENDLESS.replace("while (n > 0) { if (records[0] == 12345.678f) break; }", 'printf("lane %d of many\\n", n);')

    async def scenario(dispatcher: Dispatcher, store: Store) -> None:
        job = await ended(
            dispatcher,
            store,
            await dispatcher.add("a", "judge", 5, loud.replace("extern", "#include <cstdio>\nextern")),
        )
        assert job.outcome["verdict"]["verdict"] == "fail"
        assert "lane" in job.outcome["printed"]
        assert len(job.outcome["printed"]) < 4100

    served(mine, scenario)


def test_predictions_are_measured_in_a_process_of_their_own(mine: Path) -> None:
    async def scenario(dispatcher: Dispatcher, _: Store) -> None:
        reply = await dispatcher.mark(5, "lab", "32")
        assert (reply["marked"]["right"], reply["marked"]["measured"]) == (False, 4)
        assert "refused" in await dispatcher.mark(5, "lab", "many")

    served(mine, scenario)


def test_a_database_that_is_locked_for_a_while_loses_no_verdict(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sqlite3

    from gridstride.workbench import dispatch, store

    monkeypatch.setattr(store, "_WAIT", 0.05)
    monkeypatch.setattr(dispatch, "_AGAIN", 0.05)

    async def scenario(dispatcher: Dispatcher, store: Store) -> None:
        job = await dispatcher.add("a", "judge", 5, day(5).starter.read_text())
        live = await begun(dispatcher, job)
        other = sqlite3.connect(mine / "progress.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        while "not recorded yet" not in live.step:
            await asyncio.sleep(0.02)
        other.execute("ROLLBACK")
        other.close()
        assert (await ended(dispatcher, store, job)).state == "done"

    served(mine, scenario)
    with LearnerProgress(mine / "progress.sqlite") as progress:
        assert [run.finding for run in progress.runs(5)] == ["wrong_result"]


def test_a_judge_without_work_gives_its_memory_back(mine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gridstride.workbench import dispatch

    monkeypatch.setattr(dispatch, "_IDLE", 0.1)

    async def scenario(dispatcher: Dispatcher, store: Store) -> None:
        for _ in range(2):
            assert (await ended(dispatcher, store, await dispatcher.add("a", "judge", 1, TABLE))).state == "done"
            while dispatcher._processes[0]._process is not None:
                await asyncio.sleep(0.02)

    served(mine, scenario)


def test_a_verdict_comes_back_from_json_as_it_was() -> None:
    words = {"day": 5, "seconds": 0.5, "measured": {"x": 4.0}, "cases": 9, "chip": "h200",
             "findings": [{"kind": "race", "message": "m", "line": 7, "where": "", "shown": ["a", "b"]}]}  # fmt: skip
    verdict = verdict_of(words, "text")
    assert (verdict.day, verdict.cases, verdict.chip, verdict.source, verdict.passed) == (5, 9, "h200", "text", False)
    assert (verdict.findings[0].line, verdict.findings[0].shown) == (7, ("a", "b"))


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("fields[threadIdx.x] = recrods[0];", "compile_error"),
        ("fields[1 << 30] = 1.0f;", "out_of_bounds"),
        ('asm volatile("trap;");', "trap"),
        ("__syncthreads(); fields[threadIdx.x] = *(float*)64;", "out_of_bounds"),
    ],
)
def test_what_a_broken_or_hostile_kernel_gets_is_a_finding_with_its_line(mine: Path, body: str, kind: str) -> None:
    source = ENDLESS.replace("while (n > 0) { if (records[0] == 12345.678f) break; }", body)
    line = next(number for number, text in enumerate(source.splitlines(), start=1) if body in text)

    async def scenario(dispatcher: Dispatcher, store: Store) -> None:
        job = await ended(dispatcher, store, await dispatcher.add("a", "judge", 5, source))
        first = job.outcome["verdict"]["findings"][0]
        assert (first["kind"], first["line"]) == (kind, line)
        assert "/gridstride-" not in f"{first['message']} {first['shown']}"

    served(mine, scenario)
