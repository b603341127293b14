"""`gridstride doctor`: what this machine has, and how to mend what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest
from command_line import Run


def test_doctor_finds_this_machine_fit_and_runs_a_kernel(run: Run) -> None:
    outcome = run("doctor", "--json")
    checks = {each["name"]: each for each in outcome.json["checks"]}
    assert outcome.code == 0
    assert outcome.json["healthy"] is True
    assert checks["self-test"]["ok"] is True
    assert "virtual h200" in checks["in use"]["value"]
    assert {"Python", "numpy", "llvmlite", "NVRTC", "CUDA headers", "processor", "cache"} <= set(checks)


def test_doctor_says_what_is_missing_and_how_to_mend_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GRIDSTRIDE_DEVICE", "quantum")
    outcome = run("doctor")
    assert outcome.code == 1
    assert "✗ in use" in outcome.out
    assert "set GRIDSTRIDE_DEVICE=virtual" in outcome.out


def test_doctor_only_warns_of_a_cache_that_cannot_be_written(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("GRIDSTRIDE_CACHE", str(blocked / "cache"))
    outcome = run("doctor", "--json")
    cache = next(each for each in outcome.json["checks"] if each["name"] == "cache")
    assert outcome.code == 0
    assert cache["ok"] is None
    assert "GRIDSTRIDE_CACHE" in cache["mend"]
