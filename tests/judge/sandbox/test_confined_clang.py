"""A submission that clang compiles: before the worker, in a process that sees clang and headers alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from gridstride.judge.execution.runnable import RefusedError
from gridstride.judge.header import KernelFile
from gridstride.judge.sandbox import confined_clang, landlock, records
from gridstride.judge.sandbox.client import CannotJudge
from gridstride.judge.sandbox.confined_clang import compiled_by_clang
from gridstride.judge.sandbox.limits import WorkerLimits

SOURCE = "__global__ void k(float* x) { x[0] = 1; }\n"
FILE = KernelFile("mine", "mine.cu", SOURCE, "", None, None, None)


@pytest.fixture
def clang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a script stands for clang, which tests write."""
    path = tmp_path / "llvm" / "bin" / "clang"
    path.parent.mkdir(parents=True)
    monkeypatch.setenv("GRIDSTRIDE_COMPILER", "clang")
    monkeypatch.setenv("GRIDSTRIDE_CLANG", str(path))
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(tmp_path / "cache"))
    return path


def does(path: Path, words: str) -> None:
    """Writes the script: what it does when it is to compile."""
    path.write_text(
        '#!/bin/sh\ncase "$1" in --version) echo "clang version 19.1.0";; -print-targets) echo nvptx64;; '
        f"*) {words};; esac\n"
    )
    path.chmod(0o755)


def test_nvrtc_works_in_the_worker_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GRIDSTRIDE_COMPILER", raising=False)
    assert compiled_by_clang(FILE, "sm_90a", WorkerLimits()) is None


def test_the_worker_is_given_the_ptx(clang: Path) -> None:
    does(clang, 'printf ".version 8.5\\n.visible .entry _Z1kPf(\\n" > ../kernel.ptx')
    made = compiled_by_clang(FILE, "sm_90a", WorkerLimits())
    assert made is not None
    compiled = records.compiled_of(made, {"source": SOURCE, "filename": "mine.cu"}, "sm_90a")
    assert compiled is not None
    assert (compiled.names, compiled.arch) == ({"k": "_Z1kPf"}, "sm_90a")


def test_what_clang_says_is_the_finding(clang: Path) -> None:
    does(clang, 'echo "mine.cu:1:31: error: no such thing" >&2; exit 1')
    with pytest.raises(RefusedError) as caught:
        compiled_by_clang(FILE, "sm_90a", WorkerLimits())
    assert (caught.value.finding.kind, caught.value.finding.line) == ("compile_error", 1)


def test_without_clang_there_is_no_verdict(clang: Path) -> None:
    with pytest.raises(CannotJudge, match="is no program that can be run"):
        compiled_by_clang(FILE, "sm_90a", WorkerLimits())


@pytest.mark.skipif(not landlock.version(), reason="this kernel has no Landlock")
def test_clang_reads_no_file_of_the_users(clang: Path, tmp_path: Path) -> None:
    does(clang, "true")
    secret = tmp_path / "secret"
    secret.write_text("42")
    folder = tmp_path / "work" / "source"
    folder.mkdir(parents=True)
    (folder / "kernel.cu").write_text("own")
    run = confined_clang._run_confined
    assert run(WorkerLimits(), ["/bin/cat", str(folder / "kernel.cu")], folder)[0] == 0
    status, said = run(WorkerLimits(), ["/bin/cat", str(secret)], folder)
    assert status != 0
    assert "denied" in said
