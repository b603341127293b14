"""The order of execution that a launch is given: blocks, warps, lanes, and how many blocks there are at a time."""

from __future__ import annotations

import time

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.machine.schedule import (
    IN_TURN,
    REVERSED,
    AffinePermutation,
    Schedule,
    last_started,
    seeded,
    turns,
)

KERNELS = """
extern "C" __global__ void order(int *blocks, int *warps, int *n) {
    if (threadIdx.x % 32 == 0) {
        int turn = atomicAdd(n + 1 + blockIdx.x, 1);
        if (blockIdx.x == 0) warps[turn] = threadIdx.x / 32;
    }
    if (threadIdx.x == 0) blocks[atomicAdd(n, 1)] = blockIdx.x;
}
extern "C" __global__ void lanes(int *turn, int *n) { turn[threadIdx.x] = atomicAdd(n, 1); }
extern "C" __global__ void apart(unsigned *turn, unsigned *n) { turn[threadIdx.x] = atomicInc(n, 1000); }
extern "C" __global__ void sum(float *s, const float *x) { atomicAdd(s, x[blockIdx.x * blockDim.x + threadIdx.x]); }
extern "C" __global__ void reset_by_block_0(int *out) {
    if (blockIdx.x == 0 && threadIdx.x == 0) *out = 0;
    atomicAdd(out, 1);
}
extern "C" __global__ void meet(volatile int *count, int *out) {
    if (threadIdx.x == 0) { atomicAdd((int *)count, 1); while (*count < gridDim.x); }
    __syncthreads();
    out[blockIdx.x] = *count;
}
extern "C" __global__ void meet_in_step(volatile int *count, int *out) {
    __shared__ int come;
    if (threadIdx.x == 0) atomicAdd((int *)count, 1);
    do {
        __syncthreads();
        if (threadIdx.x == 0) come = *count;
        __syncthreads();
    } while (come < gridDim.x);
    out[blockIdx.x] = come;
}
extern "C" __global__ void meet_asleep(volatile int *count, int *out) {
    if (threadIdx.x == 0) {
        atomicAdd((int *)count, 1);
        for (int ns = 8; *count < gridDim.x; ns = min(2 * ns, 256)) __nanosleep(ns);
    }
    __syncthreads();
    out[blockIdx.x] = *count;
}
extern "C" __global__ void look_back(volatile int *flag, int *out, int *next, int by_ticket) {
    if (threadIdx.x) return;
    int me = by_ticket ? atomicAdd(next, 1) : blockIdx.x, before = 0;
    if (me > 0) while ((before = flag[me - 1]) == 0);
    flag[me] = out[me] = before + 1;
}
extern "C" __global__ void slow(int *n) { while (atomicAdd(n, 1) < 400000); }
extern "C" __global__ void until(long long cycles, int *out) {
    long long begin = clock64();
    while (clock64() - begin < cycles);
    out[0] = 1;
}
"""
ONE_AT_A_TIME = Schedule(resident=1)
ORDERS = (IN_TURN, REVERSED, seeded(1), seeded(2), ONE_AT_A_TIME)
BUILDS = pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])


def on(schedule: Schedule | None, *, sanitize: bool = False, chip: str = "h200") -> gs.VirtualGPU:
    return gs.VirtualGPU(chip, workers=2, memory=64 << 20, time_limit=20, schedule=schedule, sanitize=sanitize)


def run(device: gs.VirtualGPU, name: str, grid: int, block: int, *args: object, **launch: object) -> None:
    with gs.use(device):
        gs.cuda(KERNELS)[name].launch(grid=grid, block=block, args=args, **launch)


def ints(n: int) -> np.ndarray:
    return np.zeros(n, np.int32)


def seen(schedule: Schedule, *, sanitize: bool = False) -> tuple[list[int], list[int]]:
    """The orders of 7 blocks and of the 5 warps of each."""
    blocks, warps = ints(7), ints(5)
    run(on(schedule, sanitize=sanitize), "order", 7, 160, blocks, warps, ints(8))
    return blocks.tolist(), warps.tolist()


@BUILDS
def test_blocks_and_warps_run_in_turn_or_in_reverse(sanitize: bool) -> None:
    assert seen(IN_TURN, sanitize=sanitize) == ([0, 1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4])
    assert seen(Schedule(blocks="reversed"), sanitize=sanitize) == ([6, 5, 4, 3, 2, 1, 0], [0, 1, 2, 3, 4])
    assert seen(Schedule(warps="reversed"), sanitize=sanitize) == ([0, 1, 2, 3, 4, 5, 6], [4, 3, 2, 1, 0])


@BUILDS
def test_a_seed_draws_an_order_of_all_blocks_and_warps(sanitize: bool) -> None:
    orders = [seen(seeded(seed), sanitize=sanitize) for seed in range(6)]
    assert all(sorted(blocks) == list(range(7)) and sorted(warps) == list(range(5)) for blocks, warps in orders)
    assert len({tuple(blocks) for blocks, _ in orders}) > 3
    assert seen(seeded(3), sanitize=sanitize) == orders[3]  # observed warps give way, so the builds differ


@pytest.mark.parametrize("kernel", ["lanes", "apart"])
def test_lanes_take_turns_at_an_atomic(kernel: str) -> None:
    turn, back = (np.zeros(32, np.int32 if kernel == "lanes" else np.uint32) for _ in range(2))
    run(on(IN_TURN), kernel, 1, 32, turn, turn[:1] * 0)
    run(on(Schedule(lanes="reversed")), kernel, 1, 32, back, back[:1] * 0)
    assert turn.tolist() == list(range(32))
    assert back.tolist() == list(range(31, -1, -1))


@BUILDS
def test_float_atomics_meet_in_an_order_that_the_schedule_alone_decides(sanitize: bool) -> None:
    x, sums = np.random.default_rng(0).standard_normal(1 << 14, np.float32), {}
    for schedule in (IN_TURN, REVERSED, seeded(1)):
        device = on(schedule, sanitize=sanitize)
        for _ in range(3):
            total = np.zeros(1, np.float32)
            run(device, "sum", 128, 128, total, x)
            sums.setdefault(schedule, set()).add(float(total[0]))
    assert all(len(each) == 1 for each in sums.values())
    assert len(set.union(*sums.values())) == 3


def test_an_order_holds_for_the_launches_within_it() -> None:
    device, out = on(None), []
    for schedule in (None, REVERSED, IN_TURN):
        with device.scheduled(schedule):
            count = np.full(1, 5, np.int32)
            run(device, "reset_by_block_0", 4, 32, count)
            out.append(int(count[0]))
    assert out == [128, 32, 128]
    assert device.schedule is None


@BUILDS
@pytest.mark.parametrize("schedule", ORDERS, ids=str)
@pytest.mark.parametrize("kernel", ["meet", "meet_in_step"])
def test_a_cooperative_grid_is_resident_in_every_order(kernel: str, schedule: Schedule, sanitize: bool) -> None:
    out = ints(6)
    run(on(schedule, sanitize=sanitize), kernel, 6, 64, ints(1), out, cooperative=True)
    assert (out == 6).all()


@BUILDS
@pytest.mark.parametrize("kernel", ["meet", "meet_in_step", "meet_asleep"])
def test_a_grid_barrier_without_a_cooperative_launch_stops_where_blocks_run_one_at_a_time(
    kernel: str, sanitize: bool
) -> None:
    begin = time.process_time()
    with pytest.raises(gs.KernelFault) as fault:
        run(on(ONE_AT_A_TIME, sanitize=sanitize), kernel, 6, 64, ints(1), ints(6))
    assert time.process_time() - begin < 5
    (found,) = fault.value.findings
    assert found.kind == "deadlock"
    assert "without a cooperative launch" in found.message
    assert "5 of 6 blocks cannot start" in found.message


def test_a_grid_barrier_stops_where_the_chip_does_not_hold_the_grid() -> None:
    with pytest.raises(gs.KernelFault, match="the 40 blocks that run wait while 8 of 48 blocks cannot start"):
        run(on(Schedule(resident=40)), "meet", 48, 64, ints(1), ints(48))


@pytest.mark.parametrize(
    "schedule", [*ORDERS, Schedule("reversed", resident=1), Schedule("seeded", resident=2)], ids=str
)
def test_look_back_by_ticket_ends_in_every_order(schedule: Schedule) -> None:
    out = ints(50)
    run(on(schedule), "look_back", 50, 32, ints(50), out, ints(1), 1)
    assert (out == np.arange(1, 51)).all()


def test_look_back_by_block_index_ends_only_where_blocks_start_in_turn() -> None:
    run(on(ONE_AT_A_TIME), "look_back", 50, 32, ints(50), ints(50), ints(1), 0)
    with pytest.raises(gs.KernelFault, match="in which order they start"):
        run(on(Schedule("reversed", resident=1)), "look_back", 50, 32, ints(50), ints(50), ints(1), 0)


@pytest.mark.parametrize("schedule", [None, ONE_AT_A_TIME], ids=str)
def test_a_loop_that_changes_memory_alone_or_watches_the_clock_is_no_deadlock(schedule: Schedule | None) -> None:
    count, out = ints(1), ints(1)
    run(on(schedule), "slow", 1, 32, count)
    assert count[0] == 400_032
    run(on(schedule), "until", 1, 32, 100_000_000, out)
    assert out[0] == 1


@pytest.mark.parametrize("count", [1, 2, 3, 32, 97, 1 << 20, (1 << 31) - 1, 1 << 40])
@pytest.mark.parametrize("order", ["in_turn", "reversed", "seeded"])
def test_turns_are_a_permutation_that_fits_64_bits(order: str, count: int) -> None:
    made = turns(order, count, seed=5, what="blocks")
    assert made.step * (count - 1) + made.first < 1 << 64
    if count < 100:
        assert sorted((made.step * i + made.first) % count for i in range(count)) == list(range(count))
    assert (made == AffinePermutation(back=order == "reversed")) is (order != "seeded" or made == AffinePermutation())


def test_words_that_are_no_order_are_refused() -> None:
    with pytest.raises(ValueError, match="blocks is one of in_turn, reversed, seeded, not 'backwards'"):
        Schedule(blocks="backwards")
    with pytest.raises(ValueError, match="resident is a number of blocks, 1 or more, or None, not 0"):
        Schedule(resident=0)
    with pytest.raises(TypeError, match=r"schedule must be a gs\.Schedule or None"):
        gs.VirtualGPU(schedule="reversed")  # type: ignore[arg-type]


@pytest.mark.parametrize("blocks", [1, 2, 3, 100])
def test_the_block_that_starts_last(blocks: int) -> None:
    assert last_started(IN_TURN, blocks) == blocks - 1
    assert last_started(REVERSED, blocks) == 0
    made = turns("seeded", blocks, seed=1, what="blocks")
    places = [(made.step * i + made.first) % blocks for i in range(blocks)]
    assert last_started(seeded(1), blocks) == (blocks - 1 - places[-1] if made.back else places[-1])
