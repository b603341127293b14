"""`gridstride problem`: written, proven, refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from command_line import Outcome


def test_a_problem_is_written_and_proven(run: Callable[..., Outcome], tmp_path: Path) -> None:
    written = run("problem", "new", "soft", "--in", str(tmp_path), "--json")
    assert written.code == 0
    assert "problem.py" in json.loads(written.out)["files"]
    proven = run("problem", "prove", str(tmp_path / "soft"), "--json")
    assert proven.code == 0
    assert json.loads(proven.out)["verdict"] == "pass"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("new", "Soft"), "'Soft' is no name for a problem"),
        (("new", "here"), "is there already"),
        (("prove", "nowhere"), "there is no problem 'nowhere'"),
    ],
)
def test_a_problem_that_cannot_be_written_or_found_is_refused(
    run: Callable[..., Outcome], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, str], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    outcome = run("problem", *words)
    assert outcome.code == 2
    assert message in outcome.err
