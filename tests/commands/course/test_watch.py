"""What `watch` shows behind a pass of a whole program."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gridstride.commands.course.watch import _saves, _show_heaviest
from gridstride.commands.terminal import WrongUse
from gridstride.course.content import day
from gridstride.course.labs import program_pictures


def test_the_heaviest_kernel_is_shown_as_it_is_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(program_pictures, "lines", lambda *_: iter(["Its heaviest kernel:", "  42 | c[i] = a[i] [b]"]))
    _show_heaviest(day(3), Path("add.cu"))
    assert capsys.readouterr().out.splitlines() == ["", "Its heaviest kernel:", "  42 | c[i] = a[i] [b]"]


def test_a_program_without_one_is_a_note_and_no_error(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing(*_: object) -> Iterator[str]:
        raise program_pictures.NothingToShow("the program launched no kernel in the lab's first run")
        yield

    monkeypatch.setattr(program_pictures, "lines", nothing)
    _show_heaviest(day(3), Path("add.cu"))
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err == "note: the program launched no kernel in the lab's first run\n"


def test_a_file_that_becomes_a_pipe_is_said_once_and_watched_on(tmp_path: Path) -> None:
    file = tmp_path / "add.cu"
    file.write_text("first")
    saves = _saves(file)
    assert next(saves) == ""
    file.unlink()
    os.mkfifo(file)
    assert "is a pipe or a device" in next(saves)
    file.unlink()
    file.write_text("second")
    assert next(saves) == ""


def test_a_file_that_is_a_pipe_at_first_is_wrong_usage(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "add.cu")
    with pytest.raises(WrongUse, match="is a pipe or a device"):
        next(_saves(tmp_path / "add.cu"))
