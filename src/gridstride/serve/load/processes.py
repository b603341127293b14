"""A load from several processes, where one alone would be slower than the server that it asks."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, Pipe, wait

from gridstride.serve.load.client import LoadTarget, RequestOptions
from gridstride.serve.load.drive import Progress, drive
from gridstride.serve.load.errors import LoadError, ServerGone
from gridstride.serve.load.record import RequestRecord
from gridstride.serve.load.traffic import Planned

EACH = 64
"""Requests at a time, or a second, of one process: sending one and reading its answer takes it 2 ms."""
_LEAD = 0.05  # seconds from when all are told to when they start


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetOptions:
    """What a process needs to ask the server."""

    url: str
    key: str | None
    timeout: float


@dataclass(frozen=True, slots=True)
class LoadShare:
    """What one process sends."""

    target: TargetOptions
    planned: tuple[Planned, ...]
    wishes: RequestOptions
    concurrency: int | None


def processes_for(requests: float) -> int:
    """How many for so many requests at a time, or a second: half of the processors are the server's."""
    return max(1, min((os.cpu_count() or 1) // 2, int(requests) // EACH))


def shares(load: LoadShare, processes: int) -> list[LoadShare]:
    """Every so-manieth request for each, in their order, and as many at a time in all."""
    most, planned = load.concurrency, load.planned
    count = min(processes, len(planned), len(planned) if most is None else most)
    numbers = [None if most is None else (most - i + count - 1) // count for i in range(count)]
    return [LoadShare(load.target, planned[i::count], load.wishes, numbers[i]) for i in range(count)]


async def drive_apart(load: LoadShare, processes: int, *, on_end: Progress | None = None) -> list[RequestRecord]:
    """What `drive` gives, from so many processes that start together."""
    return await asyncio.to_thread(_collected, shares(load, processes), len(load.planned), on_end)


def _collected(parts: Sequence[LoadShare], total: int, on_end: Progress | None) -> list[RequestRecord]:
    with _running(parts) as senders:
        for sender in senders:
            sender.received()  # it is ready
        start = time.perf_counter() + _LEAD
        for sender in senders:
            sender.link.send(start)
        records: list[RequestRecord] = []
        ended = dict.fromkeys(senders, 0)
        open_senders = {sender.link: sender for sender in senders}
        while open_senders:
            for sender in [sender for link, sender in open_senders.items() if link in wait(open_senders)]:
                answer = sender.received()
                if isinstance(answer, int):
                    ended[sender] = answer
                    if on_end is not None:
                        on_end(sum(ended.values()), total)
                else:
                    records += answer
                    del open_senders[sender.link]
    return sorted(records, key=lambda record: record.end)


@dataclass(frozen=True, slots=True, eq=False)
class _Sender:
    """A process that sends a share, and the way to talk with it."""

    process: subprocess.Popen[bytes]
    link: Connection

    @classmethod
    def start(cls, share: LoadShare) -> _Sender:
        parent_end, child_end = Pipe()
        with child_end:
            code = f"import sys; sys.path[:] = {sys.path!r}; from {__name__} import main; main({child_end.fileno()})"
            process = subprocess.Popen(
                [sys.executable, "-c", code], stdin=subprocess.DEVNULL, pass_fds=[child_end.fileno()]
            )
        parent_end.send(share)
        return cls(process, parent_end)

    def received(self) -> list[RequestRecord] | int:
        """Records, or how many requests have ended; raises what kept the process from going on."""
        try:
            answer: list[RequestRecord] | int | LoadError | ServerGone = self.link.recv()
        except (EOFError, OSError):
            status = self.process.wait(1.0)
            message = f"a process that sends requests ended with exit status {status}, before its requests did"
            raise LoadError(message) from None
        if isinstance(answer, LoadError | ServerGone):
            raise answer
        return answer


@contextmanager
def _running(parts: Sequence[LoadShare]) -> Iterator[list[_Sender]]:
    """A process for each; none outlives the block."""
    senders: list[_Sender] = []
    try:
        for part in parts:
            senders.append(_Sender.start(part))
        yield senders
    finally:
        for sender in senders:
            sender.link.close()
            sender.process.kill()
            sender.process.wait()


def main(descriptor: int) -> None:
    """The process: says that it is ready, starts when it is told, and tells what came."""
    link = Connection(descriptor)
    try:
        asyncio.run(_send(link, link.recv()))
    except (LoadError, ServerGone) as error:
        link.send(error)
    except (KeyboardInterrupt, OSError, EOFError):  # nobody waits for it any more
        return


async def _send(link: Connection, load: LoadShare) -> None:
    server = LoadTarget(load.target.url, key=load.target.key, timeout=load.target.timeout)
    try:
        link.send(0)
        start: float = link.recv()
        records = await drive(
            server, load.planned, load.wishes, concurrency=load.concurrency, start=start,
            on_end=lambda ended, _: link.send(ended),
        )  # fmt: skip
    finally:
        await server.close()
    link.send(records)
