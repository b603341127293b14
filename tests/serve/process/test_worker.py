"""A request whose preparation takes long holds up nobody else, and is answered when it is done."""

from __future__ import annotations

import queue
from collections.abc import Callable
from threading import Event
from typing import Any

from gridstride.serve.engine.admission import Refused
from gridstride.serve.engine.messages import Abort, Submit
from gridstride.serve.engine.sampling import Sampling
from gridstride.serve.process.protocol import Accepted, Rejected
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
