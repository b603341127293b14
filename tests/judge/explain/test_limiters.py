"""Kernels that were each built to have one limiter: the virtual GPU names it, and so did Nsight Compute on an H200."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU
from gridstride.virtual.observe.predict import Prediction

ROOT = Path(__file__).parents[3]
NCU = {
    row["kernel"]: row
    for row in json.loads((ROOT / "tests/virtual/fixtures/limited_ncu_h200.json").read_text())["cases"]
}


def _bench() -> ModuleType:
    sys.path.insert(0, str(ROOT / "bench"))
    spec = importlib.util.spec_from_file_location("bench_limiters", ROOT / "bench/limiters.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


BENCH = _bench()
KERNELS = {one.name: one for one in BENCH.limited()}


@pytest.fixture(scope="module", autouse=True)
def _one_device() -> Iterator[None]:
    with gs.use(VirtualGPU(workers=1)):
        yield


@cache
def predicted(name: str) -> Prediction:
    model, grid, counters = BENCH.counted_limited(KERNELS[name])
    found: Prediction = model.at(grid, counters)
    return found


def test_there_are_at_least_thirty() -> None:
    assert len(KERNELS) >= 30
    assert KERNELS.keys() <= NCU.keys()


@pytest.mark.parametrize("name", KERNELS)
def test_the_limiter_is_the_one_that_the_kernel_was_built_for(name: str) -> None:
    assert predicted(name).limiter in KERNELS[name].limiter


@pytest.mark.parametrize("name", [name for name in KERNELS if BENCH.as_busy(NCU[name])])
def test_nsight_compute_found_the_same_part_busiest(name: str) -> None:
    assert predicted(name).limiter in BENCH.as_busy(NCU[name])
