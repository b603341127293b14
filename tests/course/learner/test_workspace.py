"""The learner's own folder: files are copied into it once, and never overwritten."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gridstride.course.course_errors import ProgressError
from gridstride.course.learner.workspace import VARIABLE, lab_path, make_folder, prepare_lab, prepare_worked, workspace


@pytest.fixture
def day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "mine"))
    folder = tmp_path / "course" / "day003"
    (folder / "worked").mkdir(parents=True)
    (folder / "worked" / "a.cu").write_text("worked")
    (folder / "starter.cu").write_text("starter")
    lab = SimpleNamespace(file="lab.cu")
    return SimpleNamespace(name="day003", folder=folder, starter=folder / "starter.cu", lab=lab)


def test_a_lab_is_copied_once(day: Any) -> None:
    path, made = prepare_lab(day)
    assert (path, made) == (lab_path(day), True)
    path.write_text("my own")
    assert prepare_lab(day) == (path, False)
    assert path.read_text() == "my own"


def test_worked_files_lie_beside_the_lab_and_a_changed_one_stays(day: Any) -> None:
    worked = prepare_worked(day)
    assert worked == lab_path(day).parent / "worked"
    (worked / "a.cu").write_text("tried out")
    (day.folder / "worked" / "b.cu").write_text("new")
    prepare_worked(day)
    assert {file.name: file.read_text() for file in worked.iterdir()} == {"a.cu": "tried out", "b.cu": "new"}


def test_a_day_without_worked_files_gets_no_folder(day: Any) -> None:
    (day.folder / "worked" / "a.cu").unlink()
    assert prepare_worked(day) is None


def test_a_folder_that_cannot_be_made_is_named_with_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ProgressError, match=f"it is there, and no folder; set {VARIABLE}"):
        make_folder(tmp_path / "file")


def test_a_name_that_is_no_line_of_text_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "/tmp/a\nb")
    with pytest.raises(ProgressError, match="cannot be '/tmp/a"):
        workspace()
