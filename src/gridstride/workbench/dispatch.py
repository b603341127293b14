"""Takes jobs from the queue and has them judged, one or two at a time, in processes of their own."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gridstride.course.course_errors import ProgressError
from gridstride.course.labs.lab_verdict import LabFinding, LabVerdict
from gridstride.course.learner.progress import LearnerProgress
from gridstride.workbench.jobs import Job, Jobs, Kind, State
from gridstride.workbench.judge_process import JudgeEnded, JudgeProcess
from gridstride.workbench.store import Store

_LONGEST = 600.0  # seconds for a job: the judge's own limits end one long before
_AGAIN = 2.0  # seconds until the next try where the database cannot be used
_MOST_SLOTS = 2
_IDLE = 600.0  # seconds for which a judge without work stays ready


@dataclass(slots=True)
class Live:
    """A job that waits or runs. `jobs_ahead` is how many wait before it, `step` what is being done, the how manyth."""

    job: Job
    jobs_ahead: int = 0
    running: bool = False
    step: str = ""
    steps: int = 0
    cancelled: bool = False
    process: JudgeProcess | None = field(default=None, repr=False)


def slots() -> int:
    """How many jobs are judged at once: a core is left for the pages."""
    return max(1, min(_MOST_SLOTS, len(os.sched_getaffinity(0)) - 1))


class Dispatcher:
    """The queue at work; `live` are the jobs that wait or run, by number."""

    def __init__(self, store: Store, *, slots: int) -> None:
        self.live: dict[int, Live] = {}
        self._store, self._slots = store, slots
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._processes = [JudgeProcess() for _ in range(slots)]
        self._marker, self._marking = JudgeProcess(), asyncio.Lock()

    async def start(self) -> None:
        """Take up what waits, also what ran when the server was ended; ProgressError."""
        for job in await self._store.do(lambda progress: Jobs(progress).requeue()):
            self.live[job.id] = Live(job)
        self._tasks = [asyncio.create_task(self._serve(process)) for process in self._processes]
        self._wake.set()

    async def stop(self) -> None:
        """End the processes; what ran is taken up by the next start."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await asyncio.gather(*(process.close() for process in (*self._processes, self._marker)))

    async def add(self, session: str, kind: Kind, day: int, source: str) -> Job:
        """A new job; QueueFull, SourceTooLong, ProgressError."""
        job = await self._store.do(lambda progress: Jobs(progress).add(session, kind, day, source))
        if job.id not in self.live:  # a slot may have taken it before this goes on
            self.live[job.id] = Live(job, jobs_ahead=sum(not job.running for job in self.live.values()))
        self._wake.set()
        return job

    async def cancel(self, number: int) -> None:
        """Take a job out of the queue, or end its process; one that has ended stays as it is."""
        live = self.live.get(number)
        if live is None:
            return
        live.cancelled = True
        if await self._store.do(lambda progress: Jobs(progress).cancel(number)):
            self._forget(number)
        elif live.process is not None:
            live.process.end()

    async def mark(self, day: int, question: str, answer: str) -> Mapping[str, Any]:
        """What a prediction gets, measured now; JudgeEnded."""
        request = {"op": "mark", "day": day, "question": question, "given": answer}
        async with self._marking:
            return await self._last(self._marker, request)

    async def portfolio(self, name: str) -> Mapping[str, Any]:
        """Write the learner's portfolio; `refused` in words where it cannot be. JudgeEnded."""
        async with self._marking:
            return await self._last(self._marker, {"op": "portfolio", "name": name})

    async def _serve(self, process: JudgeProcess) -> None:
        while True:
            self._wake.clear()
            try:
                job = await self._store.do(lambda progress: Jobs(progress).take())
                if job is None:
                    await self._wait(process)
                else:
                    await self._run(job, process)
            except ProgressError:  # locked or out of room: the pages say so, and the queue goes on when it can
                await asyncio.sleep(_AGAIN)

    async def _wait(self, process: JudgeProcess) -> None:
        """Until there may be work; a judge that has none for long gives its memory back."""
        try:
            await asyncio.wait_for(self._wake.wait(), _IDLE)
        except TimeoutError:
            process.end()
            await self._wake.wait()

    async def _run(self, job: Job, process: JudgeProcess) -> None:
        live = self.live.setdefault(job.id, Live(job))
        live.running, live.process = True, process
        for live_job in self.live.values():
            live_job.jobs_ahead = sum(
                not other.running and other.job.id < live_job.job.id for other in self.live.values()
            )
        state: State = "done"
        try:
            request = {"op": job.kind, "day": job.day, "source": job.source}
            outcome = {"cancelled": True} if live.cancelled else await self._last(process, request, live)
            state = "failed" if "error" in outcome else state
        except JudgeEnded as ending:
            outcome, state = {"error": str(ending)}, "failed"
        if live.cancelled:
            outcome, state = {}, "cancelled"
        try:
            await self._keep(live, state, outcome)
        finally:
            self._forget(job.id)

    async def _last(
        self, process: JudgeProcess, request: Mapping[str, Any], live: Live | None = None
    ) -> Mapping[str, Any]:
        """The last message to a request, the others noted in `live`; JudgeEnded."""
        message: Mapping[str, Any] = {}
        try:
            async with asyncio.timeout(_LONGEST):
                async for message in process.ask(request):
                    if live is not None and "step" in message:
                        live.step, live.steps = message["step"], live.steps + 1
                    if live is not None and live.cancelled:  # before there was a process to end
                        process.end()
        except TimeoutError as error:
            process.end()
            raise JudgeEnded(f"no verdict within {_LONGEST:g} s: the run was ended") from error
        except asyncio.CancelledError:
            process.end()
            raise
        return message

    async def _keep(self, live: Live, state: State, outcome: Mapping[str, Any]) -> None:
        """The verdict into the learner's record and the job's end, both or neither, as soon as that can be written."""
        job = live.job

        def keep(progress: LearnerProgress) -> None:
            with progress.writing():
                if state == "done" and job.kind == "judge":
                    progress.record_verdict(verdict_of(outcome["verdict"], job.source))
                result = {name: value for name, value in outcome.items() if name != "report"}
                Jobs(progress).end(job.id, state, result, report=outcome.get("report"))

        while True:
            try:
                await self._store.do(keep)
                return
            except ProgressError as error:
                live.step = f"judged, and not recorded yet: {error}"
            await asyncio.sleep(_AGAIN)

    def _forget(self, number: int) -> None:
        self.live.pop(number, None)
        for job in self.live.values():
            job.jobs_ahead = sum(not other.running and other.job.id < job.job.id for other in self.live.values())


def verdict_of(words: Mapping[str, Any], source: str) -> LabVerdict:
    """The verdict that a worker sent as JSON."""
    findings = tuple(
        LabFinding(finding["kind"], finding["message"], finding["line"], finding["where"], tuple(finding["shown"]))
        for finding in words["findings"]
    )
    return LabVerdict(
        words["day"], findings, words["seconds"], words["measured"], words["cases"], source, words["chip"]
    )
