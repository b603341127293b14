"""The suite itself: what is slow is skipped and counted, CI runs it, and every lower bound can be tried."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest, time

@pytest.mark.slow
def test_slow(): pass

def test_quick():
    began = time.process_time()
    while time.process_time() < began + 0.2: pass
"""
MANY = """
import pytest

KINDS = ("one", "other")

@pytest.mark.first_of("kind")
@pytest.mark.parametrize(("kind", "number"), [(kind, number) for kind in KINDS for number in range(3)])
def test_of_a_kind(kind, number): assert number == 0
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite of one slow and one quick test, with this suite's conftest.py."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests/conftest.py").read_text().replace("SLOW = 20.0", "SLOW = 0.1"))
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = slow: …\n")
    (tmp_path / "test_two.py").write_text(TESTS)
    return tmp_path


def run(suite: Path, *options: str) -> str:
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "no:cacheprovider", *options]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    return subprocess.run(command, cwd=suite, env=environment, capture_output=True, text=True, timeout=100).stdout


def test_slow_tests_are_counted_as_skipped_with_the_way_to_run_them(suite: Path) -> None:
    said = run(suite)
    assert "1 passed, 1 skipped" in said
    assert "s of processor time, or is one of many: `make test SLOW=1` (--slow) runs it" in said


def test_asked_for_they_run(suite: Path) -> None:
    assert "2 passed" in run(suite, "--slow")


def test_slow_ones_come_last(suite: Path) -> None:
    said = run(suite, "--slow", "-v")
    assert said.index("::test_quick PASSED") < said.index("::test_slow PASSED")


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_where_their_minutes_have_passed_slow_ones_are_left_and_counted(suite: Path, workers: tuple[str, ...]) -> None:
    said = run(suite, "--slow", "--slow-minutes", "0.001", *workers)
    assert "1 passed, 1 skipped" in said
    assert "1 slow tests were not reached: their minutes (--slow-minutes) had passed" in said
    assert "2 passed" in run(suite, "--slow", "--slow-minutes", "9", *workers)


def test_of_many_the_first_of_each_kind_are_no_slow_ones(suite: Path) -> None:
    (suite / "test_two.py").write_text(MANY)
    assert "2 passed, 4 skipped" in run(suite)
    assert "4 failed, 2 passed" in run(suite, "--slow")


@pytest.mark.parametrize("workers", [(), ("-n", "1")], ids=["alone", "xdist"])
def test_a_test_that_should_be_marked_slow_is_named(suite: Path, workers: tuple[str, ...]) -> None:
    named = [line for line in run(suite, *workers).splitlines() if line.endswith("mark it slow")]
    assert [line.split()[0] for line in named] == ["test_two.py::test_quick"]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
@pytest.mark.parametrize(("words", "slow"), [((), False), (("SLOW=1",), True)])
def test_make_test_runs_slow_tests_when_it_is_told_to(words: tuple[str, ...], slow: bool) -> None:
    # What a make above us was told (.ci/run says SLOW=1) is not for this one.
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "SLOW")}
    command = ["make", "-n", "test", *words]
    said = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60).stdout
    (line,) = (line for line in said.splitlines() if " -m pytest " in line)
    assert ("--slow" in line) == slow


def test_ci_runs_all_of_it() -> None:
    assert "\nmake test SLOW=1 " in (ROOT / ".ci/run").read_text()


def test_every_lower_bound_can_be_tried() -> None:
    """The script fails where a dependency names none; pip takes what it prints."""
    command = [sys.executable, ROOT / "tests/lowest_versions.py"]
    lines = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout.splitlines()
    assert len(lines) > 25
    assert [line for line in lines if not re.fullmatch(r"[\w.-]+(\[\w+\])?==\d+\.\d+\.\d+", line)] == []
