"""Kernels of a problem in other languages, judged beside its ladder."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.judge.find import find
from gridstride.judge.ladder import Ladder
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.submission import judge_twins, language, submission, twins
from gridstride.virtual.gpu import VirtualGPU


def test_twins_lie_beside_the_rungs_in_the_languages_that_they_import() -> None:
    assert [(each.name, language(each)) for each in twins(find("reduction"))] == [("numba_shared", "numba")]
    assert [language(each) for each in twins(find("matmul_half"))] == ["triton"]
    assert twins(find("transpose")) == ()


def test_a_twin_of_any_name_is_in_the_language_that_it_imports(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text((find("vector_add").path / "twins" / "triton_blocks.py").read_text())
    assert language(submission(tmp_path / "mine.py")) == "triton"


@pytest.mark.timeout(300)
def test_a_twin_joins_the_ladder(monkeypatch: pytest.MonkeyPatch) -> None:
    if reason := why_not():
        pytest.skip(reason)
    pytest.importorskip("triton")
    folder = find("vector_add")
    ladder = Ladder(folder, device=VirtualGPU("h200"), seed=4)
    (result,) = judge_twins(ladder, twins(folder))
    assert (result.verdict, ladder.passed) == ("pass", True)
    assert [twin.file.name for twin in ladder.twins] == ["triton_blocks"]
    assert [row["rung"] for row in ladder.json()["twins"]] == ["triton_blocks"]
    assert result.counters["global_sectors"] > 0


def test_without_twins_no_worker_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    ladder = Ladder(find("transpose"), device=VirtualGPU("h200"))
    monkeypatch.setattr("gridstride.judge.submission.Ladder", None)
    assert list(judge_twins(ladder, ())) == []
