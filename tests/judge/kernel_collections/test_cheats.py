"""Kernels that look right without doing the work: each must be caught, with the finding that its file names."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

import gridstride as gs
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.judge.ladder import Ladder

FILES = sorted(p for p in (Path(__file__).parents[1] / "cheats").glob("*/*.cu") if p.parent.name != "timed")


@lru_cache(1)
def ladder(problem: str) -> Ladder:
    return Ladder(find(problem), device=gs.VirtualGPU(time_limit=5.0), seed=7)


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_it_is_caught(path: Path) -> None:
    file = read_kernel(path)
    assert file.expect is not None
    result = ladder(path.parent.name).judge(file)
    assert result.verdict == "fail"
    assert file.expect.kind in {finding.kind for finding in result.findings}
    assert file.expect.pattern is None or file.expect.pattern == result.findings[0].pattern


def test_work_that_is_done_once_only_is_named() -> None:
    path = next(path for path in FILES if path.stem == "skips_after_the_first")
    result = ladder("vector_add").judge(read_kernel(path))
    assert "does the kernel do its work once only?" in result.findings[0].message


def test_something_kept_from_an_earlier_launch_is_named() -> None:
    path = next(path for path in FILES if path.stem == "replay_by_pointer")
    result = ladder("vector_add").judge(read_kernel(path))
    assert "something is kept from the launches before" in result.findings[0].message
