"""The lines of source that a finding shows."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.virtual.findings.excerpt import excerpt

SOURCE = "one\ntwo\nthree\nfour\nfive\n"


def test_the_line_has_a_mark_and_two_lines_on_each_side() -> None:
    assert excerpt(None, 3, SOURCE) == "     1 | one\n     2 | two\n>    3 | three\n     4 | four\n     5 | five"


def test_at_an_end_there_are_fewer() -> None:
    assert excerpt(None, 1, SOURCE) == ">    1 | one\n     2 | two\n     3 | three"


def test_without_the_source_the_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "kernel.cu"
    file.write_text("first\nsecond\n")
    assert excerpt(str(file), 2, None) == "     1 | first\n>    2 | second"


@pytest.mark.parametrize(("file", "line"), [(None, 1), ("/nowhere/kernel.cu", 1)])
def test_where_nobody_has_the_text_there_is_none(file: str | None, line: int) -> None:
    assert excerpt(file, line, None) is None


@pytest.mark.parametrize("line", [None, 0, 6])
def test_a_line_that_the_text_does_not_have_is_not_shown(line: int | None) -> None:
    assert excerpt(None, line, SOURCE) is None
