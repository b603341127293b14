"""When a launch's time is up."""

from __future__ import annotations

import threading
import time

import pytest

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


def test_several_threads_have_theirs_by_the_clock() -> None:
    end = deadline(10.0, threads=2)
    assert end.spent is None
    assert not end.passed(end.start + 9)
    assert end.passed(end.start + 11)


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
