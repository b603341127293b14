"""A plan carried out: each request at its time, or so many at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence

from gridstride.serve.load.client import GONE, LoadTarget, RequestOptions
from gridstride.serve.load.errors import ServerGone
from gridstride.serve.load.record import RequestRecord
from gridstride.serve.load.traffic import Planned

_GONE_AFTER = 8  # failed connections in a row
Progress = Callable[[int, int], None]
"""(requests that have ended, all of them) -> None"""


async def drive(
    server: LoadTarget,
    planned: Sequence[Planned],
    wishes: RequestOptions,
    *,
    concurrency: int | None,
    on_end: Progress | None = None,
    start: float | None = None,
) -> list[RequestRecord]:
    """Records in order of ending; ServerGone when one connection after another fails.

    `concurrency` None sends each request at its time, however many are running: users do not wait for one another.
    `start` is when, on the clock of `time.perf_counter`; now unless it is given.
    """
    begins = time.perf_counter() if start is None else start
    await asyncio.sleep(begins - time.perf_counter())
    run = _Run(server, wishes, len(planned), on_end, start=begins)
    if concurrency is None:
        jobs: list[Awaitable[None]] = [run.at(request) for request in planned]
    else:
        queue = iter(planned)
        jobs = [run.one_after_another(queue) for _ in range(min(concurrency, len(planned)))]
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    return run.records


class _Run:
    def __init__(
        self, server: LoadTarget, wishes: RequestOptions, total: int, on_end: Progress | None, *, start: float
    ) -> None:
        self.records: list[RequestRecord] = []
        self._server, self._wishes, self._total, self._on_end = server, wishes, total, on_end
        self._start = start
        self._failed = 0  # connections in a row

    async def at(self, planned: Planned) -> None:
        due = self._start + planned.at
        await asyncio.sleep(due - time.perf_counter())
        await self._send(planned, due)

    async def one_after_another(self, queue: Iterable[Planned]) -> None:
        for planned in queue:
            await self._send(planned, time.perf_counter())

    async def _send(self, planned: Planned, due: float) -> None:
        record = await self._server.stream(planned, self._wishes, due=due)
        self.records.append(record)
        self._failed = self._failed + 1 if record.error == GONE else 0
        if self._on_end is not None:
            self._on_end(len(self.records), self._total)
        if self._failed >= min(_GONE_AFTER, self._total):
            good = sum(record.ok for record in self.records)
            raise ServerGone(f"{self._server.url} is gone: {self._failed} connections failed, after {good} answers")
