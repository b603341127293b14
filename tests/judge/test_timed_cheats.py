"""Kernels that cheat while they are timed, on a GPU: each is found wrong, or no faster than the honest one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import gridstride as gs
from gridstride.judge.find import find
from gridstride.judge.header import read_kernel
from gridstride.judge.runnable import build
from gridstride.judge.timing import Timer, Timing

pytestmark = pytest.mark.gpu
FILES = {path.stem: path for path in sorted((Path(__file__).parent / "cheats" / "timed").glob("*.cu"))}
_SHARE = 0.9  # of the honest kernel's time; two timings of one kernel differ by a few percent


@pytest.fixture(scope="module")
def timed() -> Callable[[str], Timing]:
    problem = replace(find("vector_add").problem, timed={"n": 1 << 24}, peers={})
    device = gs.PhysicalGPU(0)
    timer = Timer(problem, device, seed=3)
    return lambda name: timer.time(build(problem, read_kernel(FILES[name]), device))


@pytest.mark.parametrize("name", FILES)
def test_it_is_found_wrong_or_gains_nothing(name: str, timed: Callable[[str], Timing]) -> None:
    timing = timed(name)
    expected = read_kernel(FILES[name]).expect
    assert expected is not None
    assert timing.right == (expected.kind == "nothing")
    if timing.right:
        assert timing.median_ms > _SHARE * timed("honest").median_ms
