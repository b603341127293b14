"""When a launch's time is up."""

from __future__ import annotations

import threading
import time

import pytest

from gridstride.virtual.machine import watch
from gridstride.virtual.machine.watch import STARVED, Deadline, deadline


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
