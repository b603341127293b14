"""Temporary files go with their process, or with the next one where it was killed."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gridstride.course import temporary_folder as module
from gridstride.course.temporary_folder import temporary_folder

HOLDER = """
import tempfile, time
from gridstride.course.temporary_folder import temporary_folder
with temporary_folder() as folder:
    tempfile.mkdtemp(prefix="gridstride-")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of temporary files."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def holder() -> tuple[subprocess.Popen[str], Path]:
    """A process with such a folder."""
    environment = {**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[2])}
    process = subprocess.Popen([sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def test_what_is_made_inside_goes_at_the_end(root: Path) -> None:
    with temporary_folder() as folder:
        assert Path(tempfile.mkdtemp()).parent == folder
        assert folder.stat().st_mode & 0o777 == 0o700
    assert list(root.iterdir()) == []
    assert tempfile.gettempdir() == str(root)


def test_what_a_killed_process_left_goes_when_the_next_begins_and_a_live_ones_stays(root: Path) -> None:
    (killed, left), (live, held) = holder(), holder()
    assert held.is_dir()
    killed.kill()
    killed.wait()
    assert len(list(left.iterdir())) == 2
    with temporary_folder():
        assert not left.exists()
        assert len(list(held.iterdir())) == 2
    live.kill()
    live.wait()


def test_links_and_folders_of_another_user_are_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = root / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "lock").touch()
    (root / f"{module._PREFIX}link").symlink_to(elsewhere)
    with temporary_folder():
        assert (elsewhere / "lock").exists()
    theirs = root / f"{module._PREFIX}theirs"
    theirs.mkdir()
    (theirs / "lock").touch()
    monkeypatch.setattr(os, "geteuid", lambda: theirs.stat().st_uid + 1)
    module._sweep(root)
    assert (theirs / "lock").exists()


def test_a_folder_that_is_being_made_has_time_to_get_its_lock(root: Path) -> None:
    young, old = (root / f"{module._PREFIX}{name}" for name in ("young", "old"))
    young.mkdir()
    old.mkdir()
    os.utime(old, (0, 0))
    with temporary_folder():
        assert (young.exists(), old.exists()) == (True, False)
