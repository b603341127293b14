"""TOML with every key accounted for: whatever is wrong is one error with its line."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.course.course_errors import LessonError
from gridstride.course.files.strict_toml import TomlTable, parse_table, read_table

FILE = Path("lab.toml")
TEXT = """title = "Sums"
days = 3
share = 1
names = ["a", "b"]

[[bound]]
figure = "sectors"

[[bound]]
figure = "requests"

[run.first]
n = 1024
"""


def table(text: str = TEXT) -> TomlTable:
    return parse_table(FILE, text)


def test_values_come_with_their_types() -> None:
    top = table()
    assert top.take("title", str) == "Sums"
    assert top.take("days", int) == 3
    assert isinstance(top.take("share", float), float)
    assert top.texts("names") == ("a", "b")
    assert top.take("missing", str, "default") == "default"
    assert [entry.take("figure", str) for entry in top.list("bound")] == ["sectors", "requests"]
    assert [entry.name for entry in top.list("bound")] == ["1", "2"]
    assert top.tables("run")["first"].take("n", int) == 1024
    top.done()


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("title = 3", 1, "`title` is 3: a text belongs there"),
        ("\ntitle = ' '", 2, "`title` is empty"),
        ("other = 1", 1, "lacks `title`"),
        ("\n\ntitle = true", 3, "`title` is True"),
        ("a = 1\nb =", 2, "this is no TOML"),
    ],
)
def test_a_value_that_does_not_fit(text: str, line: int, message: str) -> None:
    with pytest.raises(LessonError, match=message) as caught:
        table(text).take("title", str)
    assert caught.value.line == line


def test_true_is_no_number() -> None:
    with pytest.raises(LessonError, match="a whole number belongs there"):
        table("days = true").take("days", int)
    with pytest.raises(LessonError, match="whole numbers belong there"):
        table("days = [1, true]").numbers("days")


def test_a_key_that_nobody_took_is_refused_with_the_one_that_is_meant() -> None:
    top = table('title = "x"\ntitel = "y"\n')
    top.take("title", str)
    with pytest.raises(LessonError, match="`titel` is no key here: did you mean `title`") as caught:
        top.done()
    assert caught.value.line == 2


def test_an_entry_s_mistake_has_the_entry_s_line_and_number() -> None:
    _, second = table().list("bound")
    with pytest.raises(LessonError, match="bound 2 lacks `least`") as caught:
        second.take("least", int)
    assert caught.value.line == 9


def test_a_text_within_a_file_counts_from_the_files_first_line() -> None:
    with pytest.raises(LessonError) as caught:
        parse_table(FILE, "a = 1\n", offset=10).take("a", str)
    assert caught.value.line == 11


def test_a_file_that_is_not_there_or_no_text(tmp_path: Path) -> None:
    with pytest.raises(LessonError, match="there is no such file"):
        read_table(tmp_path / "gone.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(LessonError, match="it cannot be read"):
        read_table(tmp_path / "bytes.toml")
