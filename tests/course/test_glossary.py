"""The glossary: what it may hold, and which term a word means."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.course.course_errors import LessonError
from gridstride.course.glossary import Term, find_term, read_glossary

TEXT = """# Glossary

## Bank conflict

Lanes that meet
in one bank.

## Warp

32 lanes; `__syncwarp()` brings them together.
"""


def written(folder: Path, text: str) -> Path:
    (folder / "glossary.md").write_text(text)
    return folder


def test_terms_are_read_with_their_meaning_and_line(tmp_path: Path) -> None:
    terms = read_glossary(written(tmp_path, TEXT))
    assert terms["bank-conflict"] == Term("Bank conflict", "Lanes that meet in one bank.", 3)
    assert list(terms) == ["bank-conflict", "warp"]


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("## Lane\n\n## Warp\n\nLanes.\n", 1, "Lane has no meaning"),
        ("## Warp\n\nLanes.\n\n## warp\n\nLanes.\n", 5, "warp is there twice, first on line 1"),
        ("## Warp\n\nLanes.\n\n## Lane\n\nOne.\n", 5, "Lane is out of order"),
    ],
)
def test_what_does_not_fit_is_named_with_its_line(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(LessonError, match=message) as caught:
        read_glossary(written(tmp_path, text))
    assert caught.value.line == line


@pytest.mark.parametrize("word", ["warp", "Warps", "__syncwarp", "`__syncwarp()`"])
def test_a_term_is_found_by_its_name_its_plural_and_a_function_in_its_meaning(tmp_path: Path, word: str) -> None:
    term = find_term(read_glossary(written(tmp_path, TEXT)), word)
    assert isinstance(term, Term)
    assert term.name == "Warp"


def test_an_unknown_word_gets_those_that_are_near(tmp_path: Path) -> None:
    terms = read_glossary(written(tmp_path, TEXT))
    assert find_term(terms, "bank conflit") == "the glossary has no term 'bank conflit': did you mean Bank conflict?"
    assert "see `gridstride glossary`" in str(find_term(terms, "zzz"))
