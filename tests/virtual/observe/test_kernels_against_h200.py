"""Counts of small real kernels are those that Nsight Compute gave for the same kernels on an H200."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from benches import ROOT, bench

import gridstride as gs
from gridstride.virtual.gpu import VirtualGPU

MEASURED = {
    row["kernel"]: row
    for row in json.loads((ROOT / "tests/virtual/fixtures/kernels_ncu_h200.json").read_text())["cases"]
}

OTHERWISE = {
    # Of the order in which the hardware takes lanes that meet at an address, a handful in thousands is not known.
    "histogram": {"global_reduction_sectors": (2818, 2817)},
    "weighted_bins": {"global_reduction_sectors": (5761, 5759), "shared_atomic_wavefronts": (436, 437)},
    # ptxas makes four loads that lie side by side one of 16 bytes, and stores of 16 bytes four.
    "softmax_rows": {"shared_load_wavefronts": (1024, 512)},
    "local_sort": {"local_store_requests": (1107, 1203)},
}
"""(here, on the GPU) where they differ, and why."""


BENCH = bench("counters")
# The others compile for long (matmul, box_blur) or come from whichever Triton is installed: bench/counters.py has all.
CASES = {
    case.name: case for case in BENCH.cases() if not case.name.startswith(("matmul", "box_blur", "grayscale", "triton"))
}


@pytest.fixture(scope="module", autouse=True)
def _one_device() -> Iterator[None]:
    with gs.use(VirtualGPU(workers=1)):
        yield


@pytest.mark.parametrize("name", CASES)
def test_every_count_is_the_gpus(name: str) -> None:
    counters = CASES[name].launch(observe=True).counters
    assert BENCH.differences(counters, MEASURED[name]) == OTHERWISE.get(name, {})


@pytest.mark.parametrize("name", ["filter", "particles_soa", "scan", "tensor_boxes", "vector_add/01_scalar/16384"])
def test_the_picture_of_l1_misses_what_the_gpus_misses(name: str) -> None:
    counters = CASES[name].launch(observe=True).counters
    assert counters.l1_missed_sectors + counters.tma_sectors == MEASURED[name]["l1_fill_sectors"]


def test_divergence_is_the_machine_codes_where_its_branches_are_the_ptxs() -> None:
    counters, measured = CASES["local_sort"].launch(observe=True).counters, MEASURED["local_sort"]
    assert counters.branches == measured["branches_sass"]
    assert counters.divergent_branches == measured["divergent_branches"]
