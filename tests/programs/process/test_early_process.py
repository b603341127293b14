"""A program's process that is begun before its program is known: when, and that it never outlives who began it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gridstride.programs.process import early_process


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        ("run prog.cu", True),
        ("run --sanitize a.cu b.cpp -- 10", True),
        ("run prog.cu -- --help script.py", True),
        ("run prog.py", False),
        ("run --help", False),
        ("run --ptx prog.cu", False),
        ("run --device physical prog.cu", False),
        ("run --device=physical prog.cu", False),
        ("build prog.cu", False),
        ("", False),
    ],
)
def test_only_a_command_that_runs_a_program_has_one(words: str, runs: bool) -> None:
    assert early_process._runs_a_program(words.split()) == runs


BEGINS = """
import sys
from gridstride.programs.process import early_process
early_process.os.sched_getaffinity = lambda _: {0, 1}
early_process.begin(["run", "prog.cu"])
print(early_process._begun.child.pid, flush=True)
sys.stdin.read()
"""


def beginner() -> tuple[subprocess.Popen[str], int]:
    """A process that has begun one and waits, and the number of the one."""
    process = subprocess.Popen(
        [sys.executable, "-c", BEGINS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    return process, int(process.stdout.readline())


def ends(number: int) -> bool:
    """Whether a process is gone, or nobody's any more but to be collected, within ten seconds."""
    for _ in range(1000):
        try:
            state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state == "Z":
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("how", ["by itself", "killed"])
def test_one_that_is_told_of_no_program_ends_with_its_beginner_and_says_nothing(how: str) -> None:
    process, number = beginner()
    if how == "killed":
        process.kill()
    _, said = process.communicate("")
    assert ends(number)
    assert said == ""


def test_ctrl_c_ends_it_without_a_word() -> None:
    process, number = beginner()
    os.kill(number, signal.SIGINT)
    assert ends(number)
    assert process.communicate("")[1] == ""


def test_one_that_was_ended_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1})
    early_process.begin(["run", "prog.cu"])
    assert early_process._begun is not None
    child = early_process._begun.child
    child.kill()
    child.wait()
    assert early_process.take() is None


def test_with_one_processor_none_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0})
    early_process.begin(["run", "prog.cu"])
    assert early_process.take() is None
