"""Nsight Compute's tables are read as they are written, and what it cannot do is said in one message."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from gridstride.judge.explain import nsight
from gridstride.judge.explain.explanation import explain
from gridstride.judge.find import find
from gridstride.virtual.gpu import VirtualGPU

FIXTURES = Path(__file__).parent / "fixtures"
RAW = (FIXTURES / "ncu_transpose_raw.csv").read_text()
SOURCE = (FIXTURES / "ncu_transpose_source.csv").read_text()
KERNEL = "02_shared_tile.cu"
"""What ncu of CUDA 13.0 printed on an H200 for transpose/02_shared_tile, columns and rows that nobody reads left out:
ncu --section SourceCounters --metrics …, then --page raw and --page source --print-source cuda,sass.
"""


def test_the_busiest_unit_is_the_limiter() -> None:
    measured = nsight.parse(RAW, SOURCE, KERNEL)
    assert measured.limiter == "L1 and shared"
    assert measured.shares["L1 and shared"] == pytest.approx(0.956)
    assert measured.counts["global_load_sectors"] == 8192


def test_every_line_counted_here_is_what_was_measured_there() -> None:
    folder = find("transpose")
    found = explain(folder.rungs()[1], folder, device=VirtualGPU("h200"), seed=1, ladder=False)
    assert found.profile is not None
    measured = nsight.parse(RAW, SOURCE, KERNEL)
    for line in found.profile.lines:
        c, theirs = line.counters, measured.lines[line.number]
        assert theirs["global_sectors"] == c.global_sectors
        assert theirs["shared_wavefronts"] == c.shared_wavefronts
        assert theirs["shared_ideal_wavefronts"] == c.shared_wavefronts - c.bank_conflicts
    assert measured.counts["load_conflicts"] == found.profile.run.counters.load_conflicts


def test_quotes_in_a_source_line_do_not_shift_its_figures() -> None:
    with_quotes = nsight.lines_of(SOURCE, KERNEL)[15]  # extern "C" __global__
    assert with_quotes["instructions"] == 512


def test_samples_of_the_timed_launch_are_shares_of_one_whole() -> None:
    lines = nsight.lines_of(SOURCE, KERNEL)
    assert sum(each["sample_share"] for each in lines.values()) == pytest.approx(1.0, abs=1e-6)


def test_lines_of_other_files_are_left_out() -> None:
    assert nsight.lines_of(SOURCE, "another.cu") == {}


def test_one_launch_instead_of_two_is_said() -> None:
    assert "profiled 0 launches" in nsight.parse("", "", KERNEL).problem


def fake(folder: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An `ncu` on the PATH that does what the script says."""
    program = folder / "ncu"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_no_permission_is_said_with_the_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, 'echo "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission"; exit 1', monkeypatch)
    said = nsight.measure("k.cu", "transpose", 1)
    assert "ERR_NVGPUCTRPERM" in said.problem
    assert "virtual GPU" in said.problem
    assert said.limiter == ""


def test_an_ncu_that_fails_gives_its_first_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake(tmp_path, 'echo "==ERROR== Unsupported GPU."; echo "==ERROR== more"; exit 1', monkeypatch)
    assert "ncu could not profile the kernel: Unsupported GPU. The counts" in nsight.measure("k.cu", "p", 1).problem


def test_a_metric_that_ncu_does_not_know_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It fails for the unknown metric, then profiles, then prints its pages."""
    script = f"""
case "$*" in
*"--page raw"*) cat {FIXTURES / "ncu_transpose_raw.csv"};;
*"--page source"*) cat {FIXTURES / "ncu_transpose_source.csv"};;
*pipe_fp16*) echo "==ERROR== Failed to find metric sm__inst_executed_pipe_fp16.avg"; exit 1;;
*) while [ $# -gt 0 ]; do [ "$1" = -o ] && : > "$2.ncu-rep"; shift; done;;
esac"""
    fake(tmp_path, script, monkeypatch)
    measured = nsight.measure(KERNEL, "transpose", 1)
    assert measured.problem == ""
    assert measured.limiter == "L1 and shared"


def test_without_ncu_the_counts_are_the_virtual_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nsight, "program", lambda: None)
    assert "not installed" in nsight.measure("k.cu", "transpose", 1).problem
