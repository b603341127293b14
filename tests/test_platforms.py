"""Where GridStride does not run it says so in one line, with the way out."""

from __future__ import annotations

import sys

import pytest

import gridstride as gs
from gridstride.cli import main


def test_on_windows_the_command_line_names_wsl2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    with pytest.raises(SystemExit) as left:
        main(["doctor"])
    assert left.value.code == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: GridStride runs on Linux; on Windows run it in WSL2")


def test_on_windows_the_package_names_wsl2(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delitem(vars(gs), "cuda", raising=False)
    with pytest.raises(ImportError, match="WSL2"):
        _ = gs.cuda
