"""Counts of single accesses are those that Nsight Compute gave for the same kernels on an H200."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from benches import ROOT, bench

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU

FIXTURE = json.loads((ROOT / "tests/virtual/fixtures/access_patterns_h200.json").read_text())


BENCH = bench("access_patterns")
MEASURED = {(row["kernel"], row["type"], row["pattern"]): row for row in FIXTURE["cases"]}


@pytest.fixture(scope="module", autouse=True)
def _one_device() -> Iterator[None]:
    with gs.use(VirtualGPU(workers=1)):
        yield


@pytest.mark.parametrize("type_", BENCH.TYPES)
@pytest.mark.parametrize("kernel", ["shared_load", "shared_store", "global_load"])
def test_every_pattern_counts_as_on_the_gpu(kernel: str, type_: str) -> None:
    different: dict[str, Any] = {}
    for name, where in BENCH.patterns().items():
        ours = BENCH.counted(kernel, type_, where.astype("int32") % BENCH.ELEMENTS)
        measured = MEASURED[kernel, type_, name]
        wrong = {key: (value, measured[key]) for key, value in ours.items() if value != measured[key]}
        if wrong:
            different[name] = wrong
    assert different == {}, "(here, on the GPU) by pattern"
