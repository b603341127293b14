"""The queue: in order, fair, bounded, and there after the server was killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gridstride.course.learner.progress import LearnerProgress
from gridstride.workbench import jobs as module
from gridstride.workbench.jobs import Jobs, QueueFull, SourceTooLong


@pytest.fixture
def progress(tmp_path: Path) -> Iterator[LearnerProgress]:
    with LearnerProgress(tmp_path / "progress.sqlite") as opened:
        yield opened


@pytest.fixture
def jobs(progress: LearnerProgress) -> Jobs:
    return Jobs(progress)


def taken(jobs: Jobs) -> list[str]:
    """The sources in the order in which they are taken, each ended before the next."""
    order = []
    while job := jobs.take():
        order.append(job.source)
        jobs.end(job.id, "done", {})
    return order


def test_a_sessions_jobs_keep_their_order(jobs: Jobs) -> None:
    for number in range(50):
        jobs.add("a", "judge", 5, str(number))
    assert taken(jobs) == [str(number) for number in range(50)]


def test_sessions_take_turns_however_many_jobs_one_of_them_has(jobs: Jobs) -> None:
    for number in range(3):
        jobs.add("a", "judge", 5, f"a{number}")
    jobs.add("b", "judge", 5, "b0")
    jobs.add("c", "judge", 5, "c0")
    assert taken(jobs) == ["a0", "b0", "c0", "a1", "a2"]


def test_who_comes_later_does_not_wait_behind_a_full_queue(jobs: Jobs) -> None:
    for number in range(3):
        jobs.add("a", "judge", 5, f"a{number}")
    jobs.take()
    jobs.add("b", "judge", 5, "b0")
    assert taken(jobs) == ["b0", "a1", "a2"]


def test_a_session_that_fills_its_part_leaves_room_for_others(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_OF_SESSION", 2)
    monkeypatch.setattr(module, "MOST_WAITING", 3)
    for number in range(2):
        jobs.add("a", "judge", 5, str(number))
    with pytest.raises(QueueFull, match="2 of your runs wait already"):
        jobs.add("a", "judge", 5, "")
    jobs.add("b", "judge", 5, "")
    with pytest.raises(QueueFull, match="3 runs wait already"):
        jobs.add("c", "judge", 5, "")


def test_a_text_that_is_no_source_is_refused(jobs: Jobs) -> None:
    with pytest.raises(SourceTooLong, match="at most 262,144"):
        jobs.add("a", "judge", 5, "x" * (module.MOST_CHARACTERS + 1))


def test_what_ran_when_the_server_was_killed_comes_first_again(tmp_path: Path) -> None:
    with LearnerProgress(tmp_path / "progress.sqlite") as before:
        for number in range(3):
            Jobs(before).add("a", "judge", 5, str(number))
        Jobs(before).take()
    with LearnerProgress(tmp_path / "progress.sqlite") as after:
        assert [job.source for job in Jobs(after).requeue()] == ["0", "1", "2"]
        assert taken(Jobs(after)) == ["0", "1", "2"]


def test_a_job_that_ends_the_server_again_and_again_is_given_up(jobs: Jobs) -> None:
    job = jobs.add("a", "judge", 5, "")
    for _ in range(3):
        jobs.requeue()
        jobs.take()
    assert jobs.requeue() == []
    ended = jobs.get(job.id)
    assert ended is not None
    assert ended.state == "failed"
    assert "was ended each of the times" in ended.outcome["error"]


def test_only_a_job_that_waits_is_cancelled(jobs: Jobs) -> None:
    first, second = jobs.add("a", "judge", 5, ""), jobs.add("a", "judge", 5, "")
    jobs.take()
    assert [jobs.cancel(first.id), jobs.cancel(second.id), jobs.cancel(second.id)] == [False, True, False]
    assert jobs.take() is None


def test_old_jobs_and_pictures_are_forgotten(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEPT", 4)
    monkeypatch.setattr(module, "_KEPT_REPORTS", 2)
    numbers = [jobs.add("a", "explain", 5, "").id for _ in range(5)]
    for number in numbers:
        jobs.take()
        jobs.end(number, "done", {}, report="<html>")
    assert jobs.get(numbers[0]) is None
    assert [jobs.report(number) for number in numbers] == [None, None, None, "<html>", "<html>"]


def test_the_newest_of_a_day_is_found(jobs: Jobs) -> None:
    jobs.add("a", "judge", 5, "old")
    jobs.add("b", "judge", 5, "new")
    jobs.add("b", "judge", 6, "other")
    found = jobs.latest(5, "judge")
    assert found is not None
    assert found.source == "new"
    assert jobs.latest(5, "explain") is None
