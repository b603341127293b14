"""What `watch` shows behind a pass of a whole program."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gridstride.commands.watch import _show_heaviest
from gridstride.course import program_pictures
from gridstride.course.content import day


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
