"""compute-sanitizer's words become findings; what it cannot do is said and never a pass or a fault of the kernel's."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest

import gridstride as gs
from gridstride.judge.find import find
from gridstride.judge.submission import check
from gridstride.judge.timing import memcheck as room
from gridstride.judge.timing.memcheck import memcheck, parse

SAID = """========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at add(const float *, const float *, float *, int)+0x90 in add.cu:12
=========     by thread (31,0,0) in block (7,2,0)
=========     Access at 0x7f1a2c000000 is out of bounds
=========
========= Invalid __global__ read of size 4 bytes
=========     at add(const float *, const float *, float *, int)+0x90 in add.cu:12
=========     by thread (32,0,0) in block (7,2,0)
=========     Access at 0x7f1a2c000004 is out of bounds
=========
========= Invalid __shared__ write of size 16 bytes
=========     at add(const float *, const float *, float *, int)+0xd0
=========     by thread (0,0,0) in block (0,0,0)
=========     Access at 0x8 is misaligned
=========
========= ERROR SUMMARY: 3 errors
"""
OVERREADS_WHEN_LARGE = """// entry: add
// block: 256
// grid: 1024

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int past = n > 1 << 20;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        c[i] = a[i] + b[i] + (b[i + past] == 12345.678f);
}
"""


def test_each_fault_is_a_finding_with_its_line_and_thread() -> None:
    read, write = parse(SAID).findings
    assert (read.kind, read.line) == ("out_of_bounds", 12)
    assert read.thread is not None
    assert read.thread["block"] == (7, 2, 0)
    assert "4 bytes of global memory outside of all arrays" in read.message
    assert (write.kind, write.line) == ("misaligned", None)
    assert "16 bytes of shared memory" in write.message


def test_no_errors_are_no_findings() -> None:
    checked = parse("========= COMPUTE-SANITIZER\n========= ERROR SUMMARY: 0 errors\n")
    assert checked.findings == ()
    assert checked.problem == ""


@pytest.mark.parametrize("said", ["========= Error: Device not supported. Please refer to the manual", "Killed", ""])
def test_a_tool_that_cannot_look_is_said_and_finds_nothing(said: str) -> None:
    checked = parse(said)
    assert checked.findings == ()
    assert "could not look" in checked.problem


def fake(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = folder / "compute-sanitizer"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_it_is_asked_for_the_file_at_the_timed_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, f'echo "$@" > {tmp_path}/asked; echo "========= ERROR SUMMARY: 0 errors"', monkeypatch)
    assert memcheck("k.cu", "vector_add", 5) == room.MemcheckResult()
    assert "--tool memcheck" in (tmp_path / "asked").read_text()
    assert "gridstride.judge.timing.memcheck_runner k.cu vector_add 5" in (tmp_path / "asked").read_text()


def test_one_that_never_ends_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, "exec sleep 60", monkeypatch)
    monkeypatch.setattr(room, "_TIME_LIMIT", 0.2)
    assert "had not ended" in memcheck("k.cu", "vector_add", 5).problem


def test_without_it_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "program", lambda: None)
    assert memcheck("k.cu", "vector_add", 5).problem == "compute-sanitizer is not installed here"


@pytest.mark.gpu
def test_an_access_that_leaves_an_array_only_at_the_timed_size_is_found_on_the_gpu(tmp_path: Path) -> None:
    path = tmp_path / "overreads.cu"
    path.write_text(OVERREADS_WHEN_LARGE)
    checked = memcheck(str(path), str(find("vector_add").path), 3)
    if checked.problem:
        pytest.skip(checked.problem)
    assert {finding.kind for finding in checked.findings} == {"out_of_bounds"}


@pytest.mark.gpu
def test_a_submission_is_judged_by_both_sanitizers_where_both_are_there(tmp_path: Path) -> None:
    folder: Any = find("vector_add")
    honest = check(folder.rungs()[1].filename, folder, device=gs.PhysicalGPU(0), seed=3)
    assert honest.findings == ()
    if honest.sanitizers == ("virtual GPU",):
        pytest.skip("no compute-sanitizer that works on this machine")
    path = tmp_path / "overreads.cu"
    path.write_text(OVERREADS_WHEN_LARGE)
    result = check(path, folder, device=gs.PhysicalGPU(0), seed=3)
    assert {finding.kind for finding in result.findings} == {"out_of_bounds"}
    assert result.time_ms is None
