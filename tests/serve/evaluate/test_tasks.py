"""What files may ask."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gridstride.serve.evaluate.tasks import ChoiceQuestion, TaskError, read


def rows(path: Path, *lines: Any) -> Path:
    file = path / "rows.jsonl"
    file.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
    return file


def test_texts(tmp_path: Path) -> None:
    assert read(rows(tmp_path, {"text": "a"}, "", {"text": "b", "id": 3})) == ["a", "b"]
    assert read(rows(tmp_path, {"text": "a"}, {"text": "b"}), limit=1) == ["a"]
    (tmp_path / "book.txt").write_text("one\ntwo")
    assert read(tmp_path / "book.txt") == ["one\ntwo"]


def test_lines_end_at_their_ends_alone_and_a_mark_at_the_beginning_is_none_of_the_text(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text('\ufeff{"text": "a\u2028b\u0085c"}\r\n{"text": "d"}\n', encoding="utf-8")
    assert read(file) == ["a\u2028b\u0085c", "d"]


@pytest.mark.parametrize(
    ("row", "answer"),
    [
        ({"prompt": "q", "choices": ["x", "y"], "answer": 1}, 1),
        ({"question": "q", "choices": ["x", "y"], "answer": "B"}, 1),
        ({"context": "q", "choices": ["x", "y"], "label": "x"}, 0),
        ({"question": "q", "choices": {"text": ["x", "y"], "label": ["1", "2"]}, "answerKey": "2"}, 1),
    ],
)
def test_questions(tmp_path: Path, row: dict[str, Any], answer: int) -> None:
    assert read(rows(tmp_path, row)) == [ChoiceQuestion("q", ("x", "y"), answer)]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["{"], r"rows.jsonl:1 is not JSON"),
        ([{"text": "a"}, "3"], r"rows.jsonl:2 holds no object"),
        ([{"text": "a"}, {"txt": "b"}], r'rows.jsonl:2: "text" must be'),
        ([{"text": ""}], "not empty"),
        ([{"text": "a\ud800"}], r"rows.jsonl:1: \"text\" has half a character, '\\ud800'"),
        ([{"prompt": "q", "choices": ["a", "\ud800"], "answer": 0}], r"rows.jsonl:1: .*half a character, '\\ud800'"),
        ([{"prompt": "\ud800", "choices": ["a", "b"], "answer": 0}], r"rows.jsonl:1: .*half a character"),
        ([], "nothing to evaluate"),
        ([{"choices": ["a", "b"], "answer": 0}], "one of prompt, question, context"),
        ([{"prompt": "q", "choices": ["a"], "answer": 0}], "two or more"),
        ([{"prompt": "q", "choices": ["a", "b"], "answer": 2}], "is 2, which is no place"),
        ([{"prompt": "q", "choices": ["a", "b"], "answer": True}], "is true"),
        ([{"prompt": "q", "choices": ["a", "b"]}], "is null"),
        ([{"prompt": "q", "choices": {"text": ["a", "b"], "label": ["x"]}, "answer": 0}], "as many labels"),
    ],
)
def test_what_cannot_be_is_named(tmp_path: Path, lines: list[Any], words: str) -> None:
    with pytest.raises(TaskError, match=words):
        read(rows(tmp_path, *lines))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(TaskError, match="cannot be read"):
        read(tmp_path / "none.jsonl")
