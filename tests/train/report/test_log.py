"""What a run writes down: what was logged behind its last checkpoint comes again, and is there once."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch")
from gridstride.train.checkpoint.folder import RunFolder
from gridstride.train.report.log import Log


def logged(folder: RunFolder, first: int, last: int, *, done: int = 0) -> list[int]:
    log = Log(folder, step=done, tensorboard=False)
    for step in range(first, last + 1):
        log.write({"step": step, "loss": 1.0 / step})
    log.close()
    return [entry["step"] for entry in folder.log_entries()]


def test_a_run_that_goes_on_drops_what_comes_again(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert logged(folder, 1, 5) == [1, 2, 3, 4, 5]
    assert logged(folder, 4, 6, done=3) == [1, 2, 3, 4, 5, 6]


def test_a_run_that_begins_anew_begins_its_log_anew(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    logged(folder, 1, 5)
    assert logged(folder, 1, 2) == [1, 2]
