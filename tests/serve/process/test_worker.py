"""What takes long holds up nobody else: a request's preparation, and a parent that reads late."""

from __future__ import annotations

import queue
import socket
import threading
from collections.abc import Callable, Iterator
from threading import Event
from typing import Any

import pytest

from gridstride.serve.engine.admission import Refused
from gridstride.serve.engine.messages import Abort, Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.process import worker
from gridstride.serve.process.protocol import Accepted, Rejected
from gridstride.serve.process.wire import HEADER, length, unpacked
from gridstride.serve.process.worker import Handling


class Engine:
    """Requests with a schema are prepared until `go` is set."""

    def __init__(self) -> None:
        self.go = Event()
        self.submitted: list[str] = []

    def preparation(self, submit: Submit) -> Callable[[], None] | None:
        return None if submit.sampling.schema is None else lambda: self.go.wait(30.0) and None

    def submit(self, submit: Submit) -> None:
        if submit.sampling.schema == "bad":
            raise Refused("no schema", field="schema")
        self.submitted.append(submit.id)

    def abort(self, id: str) -> None: ...


class Link:
    """Keeps what is put into the inbox."""

    def __init__(self) -> None:
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.put = self.inbox.put


def request(id: str, schema: str | None = None) -> Submit:
    return Submit(id=id, prompt=(1,), sampling=Sampling(schema=schema), arrived=0.0)


def handling() -> tuple[Any, Engine, Link]:
    engine, link = Engine(), Link()
    return Handling(engine, link), engine, link  # type: ignore[arg-type]


def test_others_go_on_while_a_schema_is_compiled() -> None:
    made, engine, link = handling()
    assert made.of(request("slow", "{}")) == []
    assert made.of(request("quick")) == [Accepted("quick")]
    engine.go.set()
    assert made.of(link.inbox.get(timeout=30.0)) == [Accepted("slow")]
    assert engine.submitted == ["quick", "slow"]


def test_a_schema_that_is_none_is_its_own_requests_affair() -> None:
    made, engine, link = handling()
    engine.go.set()
    assert made.of(request("slow", "bad")) == []
    assert made.of(link.inbox.get(timeout=30.0)) == [Rejected("slow", "no schema", "schema")]


def test_a_request_that_is_given_up_while_it_is_prepared_never_starts() -> None:
    made, engine, link = handling()
    made.of(request("slow", "{}"))
    assert made.of(Abort("slow")) == []
    engine.go.set()
    assert made.of(link.inbox.get(timeout=30.0)) == []
    assert engine.submitted == []


@pytest.fixture
def parent(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[worker.ParentSocket, socket.socket]]:
    """A link and the parent's end; its threads end, where the process would, before the test does."""

    def die() -> None:
        raise SystemExit

    monkeypatch.setattr(worker, "_die", die)
    ours, theirs = socket.socketpair()
    link, before = worker.ParentSocket(ours), set(threading.enumerate())
    link.start()
    yield link, theirs
    theirs.close()
    link.send([Accepted("nobody reads this")])
    for thread in set(threading.enumerate()) - before:
        thread.join(30.0)
        assert not thread.is_alive()
    ours.close()


def read(connection: socket.socket, count: int) -> list[Any]:
    """So many messages."""
    found: list[Any] = []
    while len(found) < count:
        size = length(connection.recv(HEADER.size, socket.MSG_WAITALL))
        found += unpacked(connection.recv(size, socket.MSG_WAITALL))
    return found


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_parent_that_reads_late_holds_no_step_up(parent: tuple[worker.ParentSocket, socket.socket]) -> None:
    """Far more than fits into the socket; then all of it comes, in order."""
    link, theirs = parent
    sent = [Accepted(f"{i:04}" + "x" * 4000) for i in range(2000)]
    for message in sent:
        link.send([message])
    link.flush(within=0.01)
    assert read(theirs, len(sent)) == sent


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_was_queued_is_with_the_parent_after_a_flush(parent: tuple[worker.ParentSocket, socket.socket]) -> None:
    link, theirs = parent
    link.send([Accepted("a")])
    link.send([Accepted("b")])
    link.flush(within=30.0)
    theirs.setblocking(False)
    assert read(theirs, 2) == [Accepted("a"), Accepted("b")]
