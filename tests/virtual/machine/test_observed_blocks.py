"""Which blocks of a large grid are observed."""

from __future__ import annotations

import itertools

import pytest

import gridstride as gs
from gridstride.virtual.machine.observed_blocks import ALL_OBSERVED, ObservedBlocks, evenly, in_pairs, lane_watched
from gridstride.virtual.machine.schedule import IN_STEP, IN_TURN, REVERSED, Schedule, last_started, seeded

OTHERS = [REVERSED, IN_STEP, seeded(1), Schedule("reversed", resident=1)]


def members(observed: ObservedBlocks) -> list[int]:
    return [block for block in range(observed.blocks) if block in observed]


@pytest.mark.parametrize("grid", [(64, 64, 1), (1000, 1, 1), (32, 32, 4), (129, 1, 1)])
def test_a_sample_does_not_stay_in_one_column(grid: tuple[int, int, int]) -> None:
    observed = evenly(grid)
    counted = members(observed)
    assert len({index % grid[0] for index in counted}) == min(grid[0], len(counted))
    assert observed.count == len(counted) <= ALL_OBSERVED


@pytest.mark.parametrize("order", [IN_TURN, *OTHERS], ids=str)
@pytest.mark.parametrize("blocks", [1, 2, 100, 129, 1000, 4096, 5000, 65_537])
def test_pairs_are_about_as_many_and_counted_right(order: Schedule, blocks: int) -> None:
    observed = in_pairs(blocks, order)
    assert observed.count == len(members(observed)) <= ALL_OBSERVED
    assert observed.count == blocks or observed.count > ALL_OBSERVED // 3
    assert last_started(order, blocks) in observed


@pytest.mark.parametrize("order", [IN_TURN, *OTHERS], ids=str)
def test_pairs_are_any_number_of_blocks_apart(order: Schedule) -> None:
    blocks = members(in_pairs(4096, order))
    apart = {b - a for a, b in itertools.combinations(blocks, 2)}
    assert apart >= set(range(1, 1985))  # half of the grid, wherever the neighbours lie


@pytest.mark.parametrize("slots", [64, 100, 512, 1000, 1021, 1024])
@pytest.mark.parametrize("blocks", [3000, 4096, 10_007, 65_536])
def test_some_of_them_have_a_place_in_common_that_only_blocks_far_apart_share(blocks: int, slots: int) -> None:
    chosen = members(in_pairs(blocks, REVERSED))
    assert len({block % slots for block in chosen}) < len(chosen)


@pytest.mark.parametrize("blocks", [1, 2, 3, 100, 3000])
def test_two_blocks_are_watched_lane_by_lane(blocks: int) -> None:
    first, last = lane_watched(IN_TURN, even := evenly((blocks, 1, 1)))
    assert (first, last) == (0, members(even)[-1])
    for order in OTHERS:
        observed = in_pairs(blocks, order)
        watched = lane_watched(order, observed)
        assert watched[0] == last_started(order, blocks)
        assert set(watched) <= set(members(observed))
    any_one = {lane_watched(REVERSED, in_pairs(blocks + more, REVERSED))[1] for more in range(20)}
    assert len(any_one) > min(10, blocks)


SLOTS = """
__device__ int slots[1024];
extern "C" __global__ void k(int n) {
    if (threadIdx.x == 0) UPDATE;
}"""


@pytest.mark.parametrize("update", ["slots[blockIdx.x % 1024] += n", "atomicAdd(&slots[blockIdx.x % 1024], n)"])
@pytest.mark.parametrize("order", [IN_TURN, *OTHERS], ids=str)
def test_a_place_that_blocks_1024_apart_update(order: Schedule, update: str) -> None:
    kernel = gs.cuda(SLOTS.replace("UPDATE", update))["k"]
    with gs.use(gs.VirtualGPU("h200")) as gpu, gpu.scheduled(order):
        found = {finding.kind for finding in kernel.observe(3001, 32)(1).findings}
    assert found == ({"race"} if "+=" in update else set())
