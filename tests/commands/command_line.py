"""The command line in the test's own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import gridstride
from gridstride.cli import main

RIGHT = """// block: 256
// grid: ceil(n/256)
extern "C" __global__ void add(const float* a, const float* b, float* c, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
"""
UNGUARDED = RIGHT.replace("if (i < n) ", "")
ENDLESS = RIGHT.replace("if (i < n)", "while (n)")
PRINTING = RIGHT.replace("    int", '    if (blockIdx.x + threadIdx.x == 0) printf("here\\n");\n    int')
SOURCE = str(Path(gridstride.__file__).parent.parent)
# The fields that the design promises, with the types that JSON gives them.
RUNG = {
    "rung": str, "verdict": str, "max_error": float | None, "races": int, "faults": int, "time_ms": float | None,
    "predicted_ms": float | None, "speed_of_light": float | None, "limiter": str | None, "peers": dict,
    "counters": dict,
}  # fmt: skip


class Outcome(NamedTuple):
    """How a command ended, and what it wrote to stdout and stderr."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Outcome]


def status(*words: str) -> int:
    """The exit status of a command."""
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert isinstance(ended.value.code, int | None)
    return ended.value.code or 0


def outcome(capsys: pytest.CaptureFixture[str], *words: str) -> Outcome:
    """The outcome of a command, which shows no traceback."""
    capsys.readouterr()
    code = status(*words)
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return Outcome(code, captured.out, captured.err)


def process(*words: str, **options: Any) -> subprocess.Popen[str]:
    """The command line as its own process."""
    environment = {**os.environ, "GRIDSTRIDE_DEVICE": "virtual", "PYTHONPATH": SOURCE, **options.pop("env", {})}
    command = [sys.executable, "-m", "gridstride", *words]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, env=environment, **{**pipes, **options})


def kernel(folder: Path, source: str, name: str = "mine.cu") -> str:
    path = folder / name
    path.write_text(source)
    return str(path)


def assert_rung(entry: dict[str, Any]) -> None:
    assert {name: isinstance(entry[name], kind) for name, kind in RUNG.items()} == dict.fromkeys(RUNG, True)


def own_problem(folder: Path, rung: str) -> Path:
    """Vector addition in a folder of one's own, with one rung."""
    from gridstride.judge.find import find

    (folder / "rungs").mkdir()
    (folder / "problem.py").write_text((find("vector_add").path / "problem.py").read_text())
    (folder / "rungs" / "01_mine.cu").write_text(rung)
    return folder
