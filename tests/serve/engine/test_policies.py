"""Who may join the running sequences."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gridstride.serve.engine.policies import POLICIES


def requests(*serials: int) -> list[Any]:
    return [SimpleNamespace(serial=serial) for serial in serials]


@pytest.mark.parametrize(
    ("policy", "running", "admits"),
    [("continuous", (), True), ("continuous", (1,), True), ("continuous", (1, 2), False), ("fifo", (), True),
     ("fifo", (1,), False)],
)  # fmt: skip
def test_by_how_many_are_running(policy: str, running: tuple[int, ...], admits: bool) -> None:
    assert POLICIES[policy]().admits(requests(*running), requests(9), most=2) == admits


def test_a_static_batch_is_filled_from_those_that_waited_and_runs_until_all_have_ended() -> None:
    static = POLICIES["static"]()
    assert static.admits([], requests(1, 2, 3), most=2)
    assert static.admits(requests(1), requests(2, 3), most=2)
    assert not static.admits(requests(1, 2), requests(3), most=2)
    assert not static.admits(requests(2), requests(3, 4), most=2)
    assert static.admits([], requests(3, 4), most=2)


def test_who_comes_after_a_static_batch_began_waits_though_there_is_room() -> None:
    static = POLICIES["static"]()
    assert static.admits([], requests(1), most=4)
    assert not static.admits(requests(1), requests(2), most=4)
