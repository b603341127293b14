"""The process that judges: where texts lie while it does."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.course.content import day
from gridstride.workbench.worker import WorkbenchJudge


def test_texts_lie_under_one_path_one_at_a_time_so_that_compilers_find_what_they_kept(tmp_path: Path) -> None:
    bench = WorkbenchJudge(lambda _: None, tmp_path)
    with bench._file(day(3), "int main() { }") as first:
        assert first.read_text() == "int main() { }"
    assert not first.exists()
    with bench._file(day(3), "int other;") as second:
        assert second == first
    with pytest.raises(ZeroDivisionError), bench._file(day(3), ""):
        _ = 1 // 0
    assert list(tmp_path.iterdir()) == []
