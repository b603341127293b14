"""The scripts of bench/, which no other test runs: what they import is there, and `--help` answers and does no work."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BENCH = ROOT / "bench"
FILES = sorted(BENCH.rglob("*.py"))
SCRIPTS = [file for file in FILES if 'if __name__ == "__main__":' in file.read_text()]
RUN_BY_ANOTHER = ("public/run_program.py", "public/tutorials.py")
"""Parts that public_kernels.py starts, with a file as their one argument."""


def name_of(file: Path) -> str:
    return file.relative_to(BENCH).as_posix()


def imports(file: Path) -> Iterator[tuple[int, str, str | None]]:
    """Line, module, and the name taken from it, of each import of the project, those inside functions too."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name, None) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, node.module, alias.name) for alias in node.names)


def is_there(module: str, name: str | None) -> bool:
    try:
        room = importlib.import_module(module)
    except ModuleNotFoundError as error:
        return not (error.name or "").startswith("gridstride")  # a package that is not installed says nothing of ours
    return name is None or hasattr(room, name) or importlib.util.find_spec(f"{module}.{name}") is not None


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_what_a_script_imports_is_there(file: Path) -> None:
    missing = [
        f"line {line}: {name or module} of {module}"
        for line, module, name in imports(file)
        if module.partition(".")[0] == "gridstride" and not is_there(module, name)
    ]
    assert missing == []


def recorded() -> dict[Path, int]:
    """When each file of bench/results was written."""
    return {path: path.stat().st_mtime_ns for path in (BENCH / "results").rglob("*") if path.is_file()}


@pytest.mark.slow
def test_every_script_explains_itself_and_does_nothing() -> None:
    """`--help` ends with the script's first line and its arguments; no figure is written."""
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src"), "CUDA_VISIBLE_DEVICES": "", "COLUMNS": "120"}
    before = recorded()
    scripts = [file for file in SCRIPTS if name_of(file) not in RUN_BY_ANOTHER]
    # Read here: Python 3.11 counts the depth of ast.parse for all threads together, and fails when two of them parse.
    first_lines = [(ast.get_docstring(ast.parse(file.read_text())) or "").partition("\n")[0] for file in scripts]

    def answer(file: Path, first: str) -> str:
        command = [sys.executable, str(file), "--help"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=120, check=False)
        right = done.returncode == 0 and done.stdout.startswith("usage: ") and first[:40] in done.stdout
        return "" if right else f"{name_of(file)}: {done.returncode} {done.stdout[-300:]}{done.stderr[-300:]}"

    with ThreadPoolExecutor(2) as pool:
        wrong = [text for text in pool.map(answer, scripts, first_lines) if text]
    assert wrong == []
    assert recorded() == before
