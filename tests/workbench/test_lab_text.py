"""The editor's file: nothing that was typed, here or elsewhere, is overwritten unasked."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.course.content import day
from gridstride.course.course_errors import ProgressError
from gridstride.workbench.jobs import MOST_CHARACTERS
from gridstride.workbench.lab_text import ChangedElsewhere, LabText


def test_the_starter_is_there_and_what_is_typed_is_saved(mine: Path) -> None:
    lab = LabText(day(5))
    assert lab.text == day(5).starter.read_text()
    lab.save("mine")
    assert (mine / "day005/fields.cu").read_text() == "mine"
    assert LabText(day(5)).text == "mine"


def test_what_another_program_wrote_is_seen_and_taken(mine: Path) -> None:
    lab = LabText(day(5))
    assert lab.changed() is None
    (mine / "day005/fields.cu").write_text("theirs")
    assert (lab.changed(), lab.reload(), lab.changed()) == ("theirs", "theirs", None)


def test_both_having_changed_it_nothing_is_written_until_the_learner_says_so(mine: Path) -> None:
    lab = LabText(day(5))
    (mine / "day005/fields.cu").write_text("theirs")
    with pytest.raises(ChangedElsewhere):
        lab.save("mine")
    assert (mine / "day005/fields.cu").read_text() == "theirs"
    lab.save("mine", over=True)
    assert (mine / "day005/fields.cu").read_text() == "mine"


def test_two_windows_that_typed_the_same_do_not_conflict(mine: Path) -> None:
    one, other = LabText(day(5)), LabText(day(5))
    one.save("same")
    other.save("same")
    assert other.changed() is None


def test_a_file_that_cannot_be_used_is_named(mine: Path) -> None:
    lab = LabText(day(5))
    (mine / "day005/fields.cu").unlink()
    (mine / "day005/fields.cu").mkdir()
    with pytest.raises(ProgressError, match=r"fields\.cu is a folder"):
        lab.changed()


@pytest.mark.parametrize("raw", [b"caf\xe9 = 1", b"\x7fELF\0\1"], ids=["Latin-1", "binary"])
def test_a_file_that_is_no_text_is_not_opened_and_keeps_its_bytes(mine: Path, raw: bytes) -> None:
    lab = LabText(day(5))
    (mine / "day005/fields.cu").write_bytes(raw)
    with pytest.raises(ProgressError, match=r"fields\.cu is (not UTF-8 text|a binary file)"):
        lab.save("mine")
    with pytest.raises(ProgressError):
        LabText(day(5))
    assert (mine / "day005/fields.cu").read_bytes() == raw


@pytest.mark.parametrize("text", ["x" * (MOST_CHARACTERS + 1), "a\0b"], ids=["too long", "binary"])
def test_what_would_not_be_opened_again_is_not_saved(mine: Path, text: str) -> None:
    lab = LabText(day(5))
    with pytest.raises(ProgressError, match=r"fields\.cu: "):
        lab.save(text)
    assert LabText(day(5)).text == lab.text


def test_what_is_too_long_to_be_judged_here_is_not_opened(mine: Path) -> None:
    lab = LabText(day(5))
    lab.path.write_text("x" * (MOST_CHARACTERS + 1))
    with pytest.raises(ProgressError, match="262,145 characters, and at most 262,144"):
        LabText(day(5))
