"""Submissions that mean harm: each ends in a verdict within its limit, and leaves nothing behind."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import gridstride as gs
from gridstride.judge.cases.case_list import public_cases
from gridstride.judge.execution.runnable import RefusedError
from gridstride.judge.header import parse_kernel, read_kernel
from gridstride.judge.problem import Problem
from gridstride.judge.reference.prepared_cases import prepare
from gridstride.judge.sandbox.limits import WorkerLimits, use_of
from gridstride.judge.sandbox.python_header import parse_python
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.sandbox.subject import Sandbox
from gridstride.judge.verdict import Finding
from gridstride.judge.verify import verify

LIMITS = WorkerLimits(compile_seconds=8.0, launch_seconds=0.5, case_seconds=4.0, memory=1 << 30, device_memory=2 << 30)
LONGEST = 60.0  # seconds that any of them may take on a busy machine, whose share of the time is not counted against it
FOLDER = Path(__file__).parents[1] / "hostile"
FILES = sorted(FOLDER.glob("*.cu"))
PYTHON = sorted(FOLDER.glob("*.py"))


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    room = Sandbox(gs.VirtualGPU(), LIMITS)
    yield room
    room.close()


def judged(sandbox: Sandbox, problem: Problem, file: object) -> tuple[Finding, ...]:
    try:
        kernel = sandbox.build(problem, file)  # type: ignore[arg-type]
    except RefusedError as refused:
        return (refused.finding,)
    return verify(problem, kernel, prepare(problem, public_cases(problem)[:2])).findings


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_ends_in_the_verdict_it_must_get(
    path: Path, sandbox: Sandbox, doubling: Problem, capsys: pytest.CaptureFixture[str]
) -> None:
    file = read_kernel(path)
    assert file.expect is not None
    before = time.monotonic()
    findings = judged(sandbox, doubling, file)
    assert time.monotonic() - before < LONGEST
    assert findings
    assert findings[0].kind in str(file.expect).split()
    said = " ".join(finding.message for finding in findings) + capsys.readouterr().out
    assert "root:" not in said
    assert "\033" not in said
    assert "Traceback" not in said
    assert len(said) < 200_000


@pytest.mark.skipif(bool(why_not()), reason=why_not())
@pytest.mark.parametrize("path", PYTHON, ids=lambda path: path.stem)
def test_python_gets_nothing_but_a_verdict(path: Path, sandbox: Sandbox, doubling: Problem) -> None:
    pytest.importorskip("triton")
    file = parse_python(path.read_text(), filename=str(path)).kernel
    assert file.expect is not None
    before = time.monotonic()
    findings = judged(sandbox, doubling, file)
    assert time.monotonic() - before < LONGEST
    assert "GOT THROUGH" not in " ".join(finding.message for finding in findings)
    assert (findings[0].kind if findings else "pass") == file.expect.kind, findings


def test_python_is_refused_with_the_reason_where_the_system_cannot_hold_it(
    sandbox: Sandbox, doubling: Problem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gridstride.judge.sandbox.landlock.version", lambda: 0)
    path = FOLDER / "reads_files.py"
    (finding,) = judged(sandbox, doubling, parse_python(path.read_text(), filename=str(path)).kernel)
    assert finding.kind == "launch"
    assert "no Landlock" in finding.message
    assert "it was not run" in finding.message


def test_a_file_nested_a_hundred_thousand_deep_ends_in_a_verdict(sandbox: Sandbox, doubling: Problem) -> None:
    deep = "(" * 100_000 + "1" + ")" * 100_000
    source = f"// block: 64\n// grid: 1\n__global__ void k(const float* x, float* y, int n) {{ y[0] = {deep}; }}"
    (finding,) = judged(sandbox, doubling, parse_kernel(source))
    assert finding.kind in ("compile_error", "wrong_result")  # the compiler may be up to it


def test_after_all_of_them_an_honest_kernel_passes_in_the_same_room(sandbox: Sandbox, doubling: Problem) -> None:
    source = "// block: 64\n// grid: ceil(n/64)\n__global__ void k(const float* x, float* y, int n) {\n"
    source += "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n    if (i < n) y[i] = 2 * x[i];\n}"
    assert judged(sandbox, doubling, parse_kernel(source)) == ()


def test_nothing_is_left_behind(doubling: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other tests make folders in the usual place meanwhile
    children = _children()
    memory = use_of(os.getpid())
    for path in FILES[:3]:
        sandbox = Sandbox(gs.VirtualGPU(), LIMITS)
        judged(sandbox, doubling, read_kernel(path))
        sandbox.close()
    assert list(tmp_path.iterdir()) == []
    assert _children() == children
    after = use_of(os.getpid())
    assert memory is not None
    assert after is not None
    assert after.memory - memory.memory < 64 << 20


def _children() -> set[str]:
    return {task for each in Path("/proc/self/task").iterdir() for task in (each / "children").read_text().split()}
