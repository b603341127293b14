"""What a file asks: texts to be predicted, or questions with answers to choose from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from gridstride.models.text.surrogates import half_character

_QUESTION = ("prompt", "question", "context")
_ANSWER = ("answer", "answerKey", "label")
_BYTES_AT_MOST = 1 << 30  # of a file


class TaskError(ValueError):
    """A file that asks nothing that can be evaluated; file, line and field in words."""


@dataclass(frozen=True, slots=True)
class ChoiceQuestion:
    """`choices` go on with the prompt; `answer` is the place of the right one."""

    prompt: str
    choices: tuple[str, ...]
    answer: int


Task: TypeAlias = "list[str] | list[ChoiceQuestion]"


def read(file: str | Path, limit: int | None = None) -> Task:
    """The first `limit` texts or questions of a file: rows of JSON (.jsonl), else one text. TaskError otherwise."""
    path = Path(file).expanduser()
    try:
        if path.stat().st_size > _BYTES_AT_MOST:
            raise TaskError(f"{file} has {path.stat().st_size} bytes; at most {_BYTES_AT_MOST} are read")
        text = path.read_text(encoding="utf-8-sig")  # some editors begin a file with a mark
    except OSError as error:
        raise TaskError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TaskError(f"{file} is not text in UTF-8: {error.reason} at byte {error.start}") from error
    if path.suffix != ".jsonl":
        return [text] if text.strip() else _nothing(file)
    rows = list(_rows(text, str(file), limit))
    if not rows:
        return _nothing(file)
    if "choices" in rows[0][1]:
        return [_question(row, at) for at, row in rows]
    return [_text(row, at) for at, row in rows]


def _nothing(file: str | Path) -> Task:
    raise TaskError(f"{file} holds nothing to evaluate")


def _rows(text: str, file: str, limit: int | None) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Rows with their place in words."""
    row_count = 0
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        if limit is not None and row_count >= limit:
            return
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise TaskError(f"{file}:{number} is not JSON: {error}") from error
        if not isinstance(row, dict):
            raise TaskError(f"{file}:{number} holds no object")
        row_count += 1
        yield f"{file}:{number}", row


def _text(row: Mapping[str, Any], at: str) -> str:
    text = row.get("text")
    if not isinstance(text, str) or not text:
        raise TaskError(f'{at}: "text" must be a text that is not empty, or "choices" those of a question')
    _check_characters(text, '"text"', at)
    return text


def _question(row: Mapping[str, Any], at: str) -> ChoiceQuestion:
    prompt = next((row[name] for name in _QUESTION if name in row), None)
    if not isinstance(prompt, str):
        raise TaskError(f"{at}: one of {', '.join(_QUESTION)} must be a text")
    choices, labels = _choices(row.get("choices"), at)
    _check_characters([prompt, *choices], "its prompt or a choice", at)
    answer = next((row[name] for name in _ANSWER if name in row), None)
    return ChoiceQuestion(prompt, tuple(choices), _answer(answer, choices, labels, at))


def _check_characters(texts: Any, name: str, at: str) -> None:
    if (half := half_character(texts)) is not None:
        raise TaskError(f"{at}: {name} has half a character, {half!r}")


def _choices(answer: Any, at: str) -> tuple[Sequence[str], Sequence[str]]:
    """The choices and their labels: a list, or ARC's object of `text` and `label`."""
    texts, labels = (answer.get("text"), answer.get("label")) if isinstance(answer, dict) else (answer, None)
    if not isinstance(texts, list) or len(texts) < 2 or not all(isinstance(text, str) and text for text in texts):
        raise TaskError(f'{at}: "choices" must be a list of two or more texts')
    if labels is None:
        labels = [chr(ord("A") + index) for index in range(len(texts))]
    if not isinstance(labels, list) or len(labels) != len(texts):
        raise TaskError(f'{at}: "choices" needs as many labels as texts')
    return texts, [str(label) for label in labels]


def _answer(answer: Any, choices: Sequence[str], labels: Sequence[str], at: str) -> int:
    if isinstance(answer, int) and not isinstance(answer, bool) and 0 <= answer < len(choices):
        return answer
    for names in (labels, choices):
        if isinstance(answer, str) and answer in names:
            return names.index(answer)
    shown = json.dumps(answer, default=str)[:60]
    raise TaskError(f"{at}: {' or '.join(_ANSWER)} is {shown}, which is no place, label or text of a choice")
