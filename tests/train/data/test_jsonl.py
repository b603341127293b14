"""Rows of JSONL: all of a file's bad lines are named at once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from gridstride.train.data.jsonl import fields, parsed, rows
from gridstride.train.errors import TrainError


def text(entry: dict[str, Any]) -> str:
    if "text" not in entry:
        raise ValueError(f"no text, but {fields(entry)}")
    return str(entry["text"])


def read(tmp_path: Path, content: bytes) -> list[tuple[int, str]]:
    file = tmp_path / "rows.jsonl"
    file.write_bytes(content)
    return list(rows(file, text, what="texts"))


def test_rows_come_with_their_lines_and_blank_lines_are_none(tmp_path: Path) -> None:
    assert read(tmp_path, b'{"text": "a"}\n\n{"text": "b"}') == [(1, "a"), (3, "b")]


def test_every_bad_line_is_named_and_none_comes_behind_it(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('{"text": "a"}\n{"x": 1}\n{"text": "b"}\n{')
    left = rows(file, text, what="texts")
    assert next(left) == (1, "a")
    with pytest.raises(TrainError, match="2 of 4 lines are not texts: line 2: no text, but 'x'; line 4: not JSON"):
        next(left)


def test_of_many_bad_lines_the_first_five_are_shown(tmp_path: Path) -> None:
    with pytest.raises(TrainError, match=re.escape("7 of 7")) as caught:
        read(tmp_path, b"[]\n" * 7)
    assert str(caught.value).count("a JSON object is needed, not list") == 5
    assert str(caught.value).endswith("; …")


@pytest.mark.parametrize(
    ("line", "message"),
    [(b"\xff", "not UTF-8"), (b"{", "not JSON"), (b"3", "not int"), (b"[" * 200_000, "not JSON"),
     (b'{"a": ' + b"1" * 5000 + b"}", "not JSON that can be read")],
    ids=["bytes", "broken", "number", "nested", "digits"],
)  # fmt: skip
def test_a_line_that_holds_no_object(line: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        parsed(line)


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n"])
def test_the_column_of_a_line_that_is_cut_is_that_behind_it(end: bytes) -> None:
    with pytest.raises(ValueError, match=r"Expecting value at column 7\)"):
        parsed(b'{"a": ' + end)
    with pytest.raises(ValueError, match=r"delimiter at column 8\)"):
        parsed(b'{"a": 1' + end)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(TrainError, match=r"cannot read .*gone\.jsonl: No such file"):
        list(rows(tmp_path / "gone.jsonl", text, what="texts"))
