"""What tests of programs share: whether the compilers are there, and how a program is run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gridstride.programs.program_errors import MissingToolchain
from gridstride.programs.toolchain.wheels import Toolchain, toolchain

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def tools() -> Toolchain:
    """The compilers; without them the test is skipped, with the reason."""
    try:
        return toolchain()
    except MissingToolchain as missing:
        pytest.skip(str(missing))


@pytest.fixture
def program(tools: Toolchain, tmp_path: Path) -> Run:
    """Writes text to prog.cu and runs it: `program(text, *words, stdin="")`, with words for gridstride before it."""

    def run(
        text: str, *words: str, arguments: tuple[str, ...] = (), stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        (tmp_path / "prog.cu").write_text(text)
        command = [sys.executable, "-m", "gridstride", "run", *words, "prog.cu", "--", *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, input=stdin, timeout=600)

    return run
