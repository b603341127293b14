"""A learner's folder, and commands run in a process that stands elsewhere."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from gridstride.cli import main

Run = Callable[..., "Outcome"]


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


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
        with pytest.raises(SystemExit) as left:
            main(words)
        captured = capsys.readouterr()
        assert "Traceback" not in captured.err
        return Outcome(int(left.value.code or 0), captured.out, captured.err)

    return command
