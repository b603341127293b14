"""Cheats that need host code: a submission's Python runs in a worker for its PTX, with nothing there to cheat with."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import gridstride as gs
from gridstride.judge import verify
from gridstride.judge.find import find
from gridstride.judge.ladder import Ladder
from gridstride.judge.reference import tolerance
from gridstride.judge.sandbox.python_kernels import why_not
from gridstride.judge.submission import submission

pytest.importorskip("triton")
pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not())
FILES = sorted((Path(__file__).parents[1] / "cheats").glob("*/*.py"))
CORRECT = Path(__file__).parents[1] / "correct"


@pytest.fixture(scope="module")
def ladder() -> Iterator[Ladder]:
    made = Ladder(find("vector_add"), device=gs.VirtualGPU(time_limit=5.0), seed=7, sandbox=True)
    yield made
    made.close()


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_is_caught(path: Path, ladder: Ladder) -> None:
    file = submission(path)
    assert file.expect is not None
    result = ladder.judge(file)
    assert [finding.kind for finding in result.findings] == [file.expect.kind], result.findings


def test_nothing_of_the_judge_was_changed_and_an_honest_kernel_still_passes(ladder: Ladder) -> None:
    """After all of them, in the order in which they are here."""
    assert ladder.judge(submission(CORRECT / "triton_vector_add.py")).findings == ()
    assert time.perf_counter() > 0 != time.monotonic()
    assert verify.compare is tolerance.compare
    assert not np.array_equal(np.zeros(1), np.ones(1))
    assert type(np.empty(1)) is np.ndarray


def test_no_thread_process_or_file_of_theirs_is_left(
    ladder: Ladder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    children = _children()
    ladder.judge(submission(next(path for path in FILES if path.stem == "background_thread")))
    assert list(tmp_path.iterdir()) == []
    assert _children() == children
    assert not [name for name in ("result.json", "verdict.json", "results.csv") if os.path.exists(name)]


def _children() -> set[str]:
    return {task for each in Path("/proc/self/task").iterdir() for task in (each / "children").read_text().split()}
