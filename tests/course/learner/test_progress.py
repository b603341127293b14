"""The learner's database: nothing recorded is lost, nothing damaged is overwritten."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gridstride.course.course_errors import ProgressError
from gridstride.course.learner import database as module
from gridstride.course.learner.database_identity import APPLICATION_ID
from gridstride.course.learner.progress import LearnerProgress, RunDetails
from gridstride.course.learner.schema import MIGRATIONS

WRITER = """
import sys
from pathlib import Path
from gridstride.course.learner.progress import LearnerProgress, RunDetails
progress = LearnerProgress(Path(sys.argv[1]))
for number in range(int(sys.argv[3])):
    progress.record_run(5, passed=False, seconds=0.5, details=RunDetails(finding=f"{sys.argv[2]} {number}"))
    print(number, flush=True)
"""


def writer(path: Path, name: str, many: int) -> subprocess.Popen[str]:
    """A process that records so many runs and says the number of each when it is recorded."""
    environment = {**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[3])}
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), name, str(many)], stdout=subprocess.PIPE, text=True, env=environment
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mine" / "progress.sqlite"


def test_what_was_done_is_there_after_a_restart(path: Path) -> None:
    with LearnerProgress(path) as progress:
        progress.record_run(5, passed=True, seconds=1.5, details=RunDetails(measured={"sectors": 4.0}))
        progress.record_answer(5, "direct", "32", right=True)
        progress.record_solution(5, passed=True)
        assert [progress.next_hint(5, 2) for _ in range(3)] == [1, 2, 2]
    with LearnerProgress(path) as progress:
        (run,) = progress.runs()
        assert (run.day, run.passed, run.seconds, run.measured) == (5, True, 1.5, {"sectors": 4.0})
        (answer,) = progress.answers(5)
        assert (answer.question, answer.given, answer.right) == ("direct", "32", True)
        assert progress.answers(6) == []
        assert progress.hints(5) == 2
        assert not progress.solution_seen_early(5)


def test_two_processes_at_once_lose_nothing(path: Path) -> None:
    both = [writer(path, name, 25) for name in ("one", "two")]
    assert [each.wait(60) for each in both] == [0, 0]
    with LearnerProgress(path) as progress:
        found = [run.finding for run in progress.runs()]
    assert sorted(found) == sorted(f"{name} {number}" for name in ("one", "two") for number in range(25))
    assert [each for each in found if each.startswith("one")] == [f"one {number}" for number in range(25)]


@pytest.mark.parametrize("after", [1, 7])
def test_kill_9_loses_nothing_that_was_recorded(path: Path, after: int) -> None:
    process = writer(path, "killed", 100_000)
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(after)]
    process.send_signal(signal.SIGKILL)
    said += process.stdout.readlines()
    process.wait(30)
    recorded = [int(line) for line in said if line.endswith("\n")]
    with LearnerProgress(path) as progress:
        found = [run.finding for run in progress.runs()]
        progress.record_run(5, passed=True, seconds=0.1)
        assert len(progress.runs()) == len(found) + 1
    assert found == [f"killed {number}" for number in range(len(found))]
    assert len(found) > recorded[-1] >= after - 1


@pytest.mark.parametrize(
    "content", [b"no database at all, but long enough to be looked at " * 40, b"SQLite format 3\0" + b"\x07" * 4000]
)
def test_a_damaged_file_is_kept_aside_and_said_so(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    said: list[str] = []
    with LearnerProgress(path, say=said.append) as progress:
        progress.record_run(1, passed=True, seconds=0.1)
        assert len(progress.runs()) == 1
    (aside,) = path.parent.glob("progress.sqlite.damaged-*")
    assert aside.read_bytes() == content
    assert len(said) == 1
    assert str(aside) in said[0]


def test_a_database_with_a_broken_page_is_kept_aside(path: Path) -> None:
    with LearnerProgress(path) as progress:
        for number in range(300):
            progress.record_run(5, passed=False, seconds=0.1, details=RunDetails(message=f"{number} " * 20))
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2 :] = b"\xff" * (len(raw) - len(raw) // 2)
    path.write_bytes(raw)
    said: list[str] = []
    with LearnerProgress(path, say=said.append) as progress:
        assert progress.runs() == []
    assert len(said) == 1
    assert len(list(path.parent.glob("*.damaged-*"))) == 1


def test_two_processes_that_find_it_damaged_set_aside_the_damaged_one_only(path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"damaged " * 400)
    both = [writer(path, name, 5) for name in ("one", "two")]
    assert [each.wait(60) for each in both] == [0, 0]
    (aside,) = path.parent.glob("*.damaged-*")
    assert aside.read_bytes().startswith(b"damaged")
    with LearnerProgress(path) as progress:
        assert len(progress.runs()) == 10


def test_two_damaged_files_in_one_second_are_both_kept(path: Path) -> None:
    path.parent.mkdir()
    for content in (b"first " * 400, b"second " * 400):
        path.write_bytes(content)
        LearnerProgress(path).close()
    assert {each.read_bytes()[:5] for each in path.parent.glob("*.damaged-*")} == {b"first", b"secon"}


def test_a_locked_file_is_said_to_be_and_left_alone(path: Path) -> None:
    LearnerProgress(path).close()
    other = sqlite3.connect(path, isolation_level=None)
    with LearnerProgress(path, wait=0.1) as progress:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(ProgressError, match="locked by another program"):
            progress.record_run(5, passed=True, seconds=0.1)
        other.execute("ROLLBACK")
        progress.record_run(5, passed=True, seconds=0.1)
        assert len(progress.runs()) == 1
    other.close()
    assert list(path.parent.glob("*.damaged-*")) == []


def test_a_file_of_a_later_version_is_not_touched(path: Path) -> None:
    LearnerProgress(path).close()
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    other.close()
    before = path.read_bytes()
    with pytest.raises(ProgressError, match="written by a later GridStride"):
        LearnerProgress(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 2, len(MIGRATIONS), 7])
@pytest.mark.parametrize("mark", [0, 77])
def test_another_programs_database_is_kept_aside_as_it_was(path: Path, version: int, mark: int) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.executescript(
        f"CREATE TABLE bookmark (url TEXT); CREATE TABLE run (id INTEGER); INSERT INTO bookmark VALUES ('x');"
        f"PRAGMA user_version = {version}; PRAGMA application_id = {mark}"
    )
    other.close()
    before, said = path.read_bytes(), []
    with LearnerProgress(path, say=said.append) as progress:
        progress.record_run(5, passed=True, seconds=0.1)
    (aside,) = path.parent.glob("progress.sqlite.foreign-*")
    assert aside.read_bytes() == before
    assert said == [f"{path} is another program's database: it is kept as {aside}, and a new one is begun"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("DROP TABLE hint", "it has no table hint"),
        ("ALTER TABLE run DROP COLUMN chip", "its table run has no column chip"),
        ("PRAGMA user_version = -1", "the version of its tables is -1"),
        ("PRAGMA user_version = 0", "the version of its tables is 0"),
    ],
)
@pytest.mark.parametrize("marked", [True, False])
def test_a_database_that_lacks_something_is_said_to_be_incomplete(
    path: Path, change: str, said: str, *, marked: bool
) -> None:
    LearnerProgress(path).close()
    other = sqlite3.connect(path)
    other.execute(change)
    if not marked:
        other.execute("PRAGMA application_id = 0")
    other.close()
    before, words = path.read_bytes(), []
    LearnerProgress(path, say=words.append).close()
    (aside,) = path.parent.glob("progress.sqlite.incomplete-*")
    assert aside.read_bytes() == before
    assert len(words) == 1
    assert f"is incomplete: {said}" in words[0]


@pytest.mark.parametrize("version", range(1, len(MIGRATIONS) + 1))
def test_a_database_from_before_ours_were_marked_goes_on_and_is_marked(path: Path, version: int) -> None:
    path.parent.mkdir()
    old = sqlite3.connect(path)
    for step in MIGRATIONS[:version]:
        old.executescript(step)
    old.execute("INSERT INTO hint VALUES (5, 1, '2026-01-02T03:04:05.000+00:00')")
    old.execute(f"PRAGMA user_version = {version}")
    old.commit()
    old.close()
    with LearnerProgress(path) as progress:
        assert progress.hints(5) == 1
        assert progress.read("PRAGMA application_id") == [(APPLICATION_ID,)]


def test_a_full_disk_is_said_to_be_full_and_what_was_begun_is_undone(path: Path) -> None:
    with LearnerProgress(path) as progress:
        progress.record_run(5, passed=True, seconds=0.1)
        (pages,) = progress.read("PRAGMA page_count")[0]
        progress.read(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(ProgressError, match="its disk is full"):
            progress.record_run(5, passed=True, seconds=0.1, details=RunDetails(source="x" * 100_000))
        progress.read("PRAGMA max_page_count = 100000")
        progress.record_run(6, passed=True, seconds=0.1)
        assert [run.day for run in progress.runs()] == [5, 6]


def test_only_its_owner_reads_it_nor_what_belongs_to_it(path: Path) -> None:
    def modes() -> set[int]:
        return {each.stat().st_mode & 0o777 for each in path.parent.glob("progress.sqlite*")}

    with LearnerProgress(path) as progress:
        progress.record_run(5, passed=True, seconds=0.1)
        assert len(list(path.parent.iterdir())) == 3
        assert modes() == {0o600}
        for each in path.parent.iterdir():
            each.chmod(0o644)
        LearnerProgress(path).close()
        assert modes() == {0o600}


def test_a_pipe_in_its_place_is_said_and_not_waited_for(path: Path) -> None:
    path.parent.mkdir()
    os.mkfifo(path)
    with pytest.raises(ProgressError, match="it is a pipe or a device"):
        LearnerProgress(path)


def test_an_older_file_is_taken_to_the_newest_version_with_all_it_holds(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LearnerProgress(path) as progress:
        progress.record_run(5, passed=True, seconds=0.1)
    monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, "ALTER TABLE run ADD COLUMN note TEXT NOT NULL DEFAULT ''"))
    with LearnerProgress(path) as progress:
        assert len(progress.runs()) == 1
    other = sqlite3.connect(path)
    assert other.execute("SELECT note FROM run").fetchall() == [("",)]
    other.close()


def test_a_file_from_before_sources_were_kept_is_read_and_written(path: Path) -> None:
    path.parent.mkdir()
    old = sqlite3.connect(path)
    old.executescript(MIGRATIONS[0])
    old.execute(
        "INSERT INTO run (at, day, passed, finding, message, seconds, measured) "
        "VALUES ('2026-01-02T03:04:05.000+00:00', 5, 1, '', '', 1.5, '{\"sectors\": 4.0}')"
    )
    old.execute("PRAGMA user_version = 1")
    old.commit()
    old.close()
    with LearnerProgress(path) as progress:
        progress.record_run(5, passed=True, seconds=0.1, details=RunDetails(source="int x;", cases=101, chip="h200"))
        before, after = progress.runs()
    assert (before.measured, before.source, before.cases, before.chip) == ({"sectors": 4.0}, None, None, None)
    assert (after.source, after.cases, after.chip) == ("int x;", 101, "h200")


def test_a_step_that_fails_changes_nothing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LearnerProgress(path) as progress:
        progress.record_run(5, passed=True, seconds=0.1)
    monkeypatch.setattr(module, "MIGRATIONS", (*MIGRATIONS, "DROP TABLE run; CREATE TABLE broken ("))
    with pytest.raises(ProgressError, match="nothing was changed"):
        LearnerProgress(path)
    monkeypatch.undo()
    with LearnerProgress(path) as progress:
        assert len(progress.runs()) == 1


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProgressError, match="cannot be made"):
        LearnerProgress(tmp_path / "file" / "progress.sqlite")
