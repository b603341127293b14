"""A learner's folder, and commands run in a process that stands elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from command_line import Outcome, outcome

Run = Callable[..., Outcome]


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The learner's folder; the process stands in another one."""
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    monkeypatch.setenv("GRIDSTRIDE_COURSE", str(tmp_path / "mine"))
    return tmp_path / "mine"


@pytest.fixture
def run(mine: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def command(*words: str, typed: str = "") -> Outcome:
        monkeypatch.setattr("sys.stdin", StringIO(typed))
        return outcome(capsys, *words)

    return command
