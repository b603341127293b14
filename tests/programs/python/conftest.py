"""What tests of Python programs share."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gridstride.programs.python.library_names import library_folder
from gridstride.programs.toolchain.wheels import Toolchain

from .scripts import Run


@pytest.fixture(scope="session")
def libraries(tools: Toolchain) -> Path:
    """The runtime library, which the first program builds."""
    return library_folder(tools, progress=lambda _: None)


@pytest.fixture
def script(libraries: Path, tmp_path: Path) -> Run:
    """Writes text to prog.py and runs it: `script(text, *words, arguments=())`, with words for gridstride before it."""

    def run(text: str, *words: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
        (tmp_path / "prog.py").write_text(text)
        command = [sys.executable, "-m", "gridstride", "run", *words, "prog.py", "--", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=600)

    return run
