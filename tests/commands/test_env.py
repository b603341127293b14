from __future__ import annotations

import subprocess
import sys

import pytest


def env(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "gridstride", "env", *words], capture_output=True, text=True)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["make", "all"], "a command goes behind --, as in gridstride env -- make all"),
        (["--chip", "gtx"], "unknown chip 'gtx'"),
        (["--gpus", "0"], "--gpus 0 must be 1 to 16"),
        (["--memory", "much"], "--memory much is no amount"),
    ],
)
def test_wrong_words_are_said_in_one_line(words: list[str], said: str) -> None:
    done = env(*words)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not done.stdout
