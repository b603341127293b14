"""When a launch's time is up."""

from __future__ import annotations

import ctypes
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gridstride.virtual.abi.finding_kinds import FAULT
from gridstride.virtual.machine import watch
from gridstride.virtual.machine.watch import PROGRESS, STARVED, Deadline, WatchedLaunch, Watcher, deadline


def test_a_launch_on_one_thread_has_its_seconds_of_a_processor() -> None:
    spent = 0.0
    end = Deadline(100.0, 10.0, lambda: spent)
    assert not end.passed(109.0)
    assert not end.passed(115.0)  # by the clock it is late, but it has hardly run
    spent = 10.1
    assert end.passed(115.0)
    assert not end.passed(109.0)


def test_no_launch_goes_on_for_ever_on_a_machine_that_never_runs_it() -> None:
    end = Deadline(100.0, 10.0, lambda: 0.0)
    assert not end.passed(100.0 + 10 * STARVED)
    assert end.passed(100.1 + 10 * STARVED)


def test_several_threads_have_theirs_by_the_clock_less_what_the_first_was_kept_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now, kept = 100.0, 3.0
    monkeypatch.setattr(watch.time, "monotonic", lambda: now)
    monkeypatch.setattr(watch, "_without_processor", lambda _: kept)
    end = deadline(10.0, threads=2)
    now = 111.0
    assert end.passed(now)
    kept = 5.0  # two of the eleven seconds it was ready and had no processor
    assert not end.passed(now)
    now = 112.5
    assert end.passed(now)


def test_what_a_thread_of_this_process_was_kept_from_is_known_or_nothing() -> None:
    assert watch._without_processor(threading.get_native_id()) >= 0
    assert watch._without_processor(0) == 0


@pytest.mark.skipif(not hasattr(time, "pthread_getcpuclockid"), reason="this system does not tell a thread's time")
def test_the_time_is_that_of_the_thread_that_launches() -> None:
    end = deadline(10.0, threads=1)
    assert end.spent is not None
    time.sleep(0.2)
    asleep = end.spent()
    while end.spent() < asleep + 0.05:
        pass
    seen: list[float] = []
    other = threading.Thread(target=lambda: seen.append(end.spent() if end.spent else -1.0))
    other.start()
    other.join()
    assert asleep < 0.1
    assert seen[0] >= 0.05


def test_without_a_limit_it_never_is() -> None:
    assert not deadline(float("inf"), threads=1).passed(1e12)


BLOCKS, LIMIT = 100, 10.0


def stopped_at(monkeypatch: pytest.MonkeyPatch, started: Callable[[float], float]) -> float | None:
    """Seconds after which a launch is stopped of whose blocks so many have been taken by then; None where it ends."""
    now = 0.0
    monkeypatch.setattr(watch.time, "monotonic", lambda: now)
    monkeypatch.setattr(watch, "_without_processor", lambda _: 0.0)
    record = np.zeros(1, [("next", np.int64), ("blocks", np.int64)])
    record["blocks"] = BLOCKS
    watched = WatchedLaunch(record, LIMIT, threads=2)
    while (taken := started(now)) <= BLOCKS:
        record["next"] = int(taken)
        if watched.is_late(now):
            return now
        now += 0.1
    return None


@pytest.mark.parametrize("seconds", [5, 12, 20, 25])
def test_a_launch_whose_blocks_go_on_starting_ends_by_itself(monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    assert stopped_at(monkeypatch, lambda now: 1.01 * BLOCKS * now / seconds) is None


def test_one_that_would_take_too_long_at_its_pace_is_stopped_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert stopped_at(monkeypatch, lambda now: now) == pytest.approx(LIMIT, abs=0.2)


@pytest.mark.parametrize("blocks", [0, 8, 99, 100])
def test_one_whose_blocks_no_longer_start_is_stopped_when_its_time_is_up(
    monkeypatch: pytest.MonkeyPatch, blocks: int
) -> None:
    assert stopped_at(monkeypatch, lambda now: min(blocks, 100 * now)) == pytest.approx(LIMIT, abs=0.2)


def test_one_whose_last_block_never_ends_is_stopped_soon_after_it_was_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    end = stopped_at(monkeypatch, lambda now: min(BLOCKS, BLOCKS * now / 12))
    assert end is not None
    assert LIMIT < end < PROGRESS * LIMIT


def running() -> np.ndarray[Any, Any]:
    return np.zeros(1, [("next", np.int64), ("blocks", np.int64), ("abort", np.int32)])


def stop_of(record: np.ndarray[Any, Any]) -> int:
    """Why it was stopped, as soon as it is; 0 where nobody does."""
    end = time.monotonic() + 10
    while not record["abort"][0] and time.monotonic() < end:
        time.sleep(0.01)
    return int(record["abort"][0])


def forked_in_c(body: Callable[[], bool]) -> int:
    """The number of a child that was forked as a C program does it, without Python's handlers; its status is 0 where
    the body is true."""
    child = int(ctypes.PyDLL(None).fork())
    if child == 0:
        try:
            os._exit(0 if body() else 3)
        finally:
            os._exit(4)
    return child


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork()")
def test_a_child_forked_in_c_has_time_limits_and_ctrl_c_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    watcher, parents = Watcher(), running()
    go, gate = os.pipe()

    def child() -> bool:
        late, interrupted = running(), running()
        os.read(go, 1)
        with watcher.watch(late, 0.05):
            timeout = stop_of(late) == FAULT["timeout"]
        signal.signal(signal.SIGINT, lambda *_: None)
        with watcher.watch(interrupted, None):
            os.kill(os.getpid(), signal.SIGINT)
            return timeout and stop_of(interrupted) == FAULT["interrupted"]

    monkeypatch.setattr(watch, "LINGER", 0.0)
    with watcher.watch(running(), None):
        pass
    time.sleep(0.3)  # the parent's thread sleeps by then: a child would wait for ever for what it holds of Python
    number = forked_in_c(child)
    with watcher.watch(parents, None):
        os.write(gate, b"\0")
        assert os.waitstatus_to_exitcode(os.waitpid(number, 0)[1]) == 0
        assert not parents["abort"][0]
    late = running()
    with watcher.watch(late, 0.05):
        assert stop_of(late) == FAULT["timeout"]


def test_a_byte_that_another_has_read_is_no_error() -> None:
    assert Watcher()._signals() == b""


def test_a_child_does_not_wait_for_a_lock_that_the_parent_held_when_it_forked() -> None:
    watcher = watch.Watcher()
    watcher._lock.acquire()
    watcher._process = -1  # as after fork() in C, which tells Python nothing

    def launch() -> None:
        with watcher.watch(np.zeros(1, [("abort", np.int32), ("next", np.int64), ("blocks", np.int64)]), 10):
            pass

    child = threading.Thread(target=launch, daemon=True)
    child.start()
    child.join(10)
    assert not child.is_alive()
