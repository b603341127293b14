"""What PTX leaves open: as hardware does it in a launch in turn, in another way where lanes take turns in reverse."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs
from gridstride.virtual.machine.schedule import IN_TURN, REVERSED, Schedule, seeded

ORDERS = {"in turn": IN_TURN, "reversed": REVERSED, "even seed": seeded(2), "odd seed": seeded(1)}


@pytest.fixture(scope="module")
def device() -> gs.VirtualGPU:
    return gs.VirtualGPU("h200", workers=1, memory=64 << 20, time_limit=20)


def ran(device: gs.VirtualGPU, body: str, schedule: Schedule, *, observed: bool = True) -> tuple[set[str], list[int]]:
    """The kinds of findings of two blocks of 64 threads, and what they leave in 128 words that were 1, 2, 3…"""
    with gs.use(device), device.scheduled(schedule):
        kernel = gs.cuda(f'extern "C" __global__ void k(unsigned *o) {{ unsigned t = threadIdx.x; {body} }}')["k"]
        o = gs.to_device(np.arange(1, 129, dtype=np.uint32))
        if observed:
            found = {f.kind for f in kernel.observe(2, 64)(o).findings}
        else:
            kernel[2, 64](o)
            found = set()
        return found, o.numpy().tolist()


def back(order: str) -> bool:
    return ORDERS[order].lanes == "reversed"


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("observed", [False, True])
def test_elect_gives_any_lane_of_the_mask_the_same_each_time(device: gs.VirtualGPU, order: str, observed: bool) -> None:
    body = """unsigned a, b, p;
        asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; selp.u32 %1, 1, 0, p; }" : "=r"(a), "=r"(p));
        asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; }" : "=r"(b));
        o[64 * blockIdx.x + t] = a | b << 8 | p << 16 | (t % 32 == a) << 17;"""
    _, out = ran(device, body, ORDERS[order], observed=observed)
    leader = 31 if back(order) else 0
    assert out == [leader * 257 + 3 * (t % 32 == leader) * 65536 for t in range(128)]


@pytest.mark.parametrize("order", ORDERS)
def test_elect_gives_a_lane_that_takes_part(device: gs.VirtualGPU, order: str) -> None:
    body = """unsigned a = 99;
        if (t % 32 > 4 && t % 32 < 9) asm volatile("{ .reg .pred p; elect.sync %0|p, 0x1e0; }" : "=r"(a));
        o[64 * blockIdx.x + t] = a;"""
    _, out = ran(device, body, ORDERS[order])
    assert set(out) == {99, 8 if back(order) else 5}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("observed", [False, True])
def test_a_warp_s_slot_is_its_number_where_the_block_is_alone_there(
    device: gs.VirtualGPU, order: str, observed: bool
) -> None:
    body = 'unsigned w; asm volatile("mov.u32 %0, %%warpid;" : "=r"(w)); o[64 * blockIdx.x + t] = w;'
    _, out = ran(device, body, ORDERS[order], observed=observed)
    assert out == [63 - t % 64 // 32 if back(order) else t % 64 // 32 for t in range(128)]


LINE = 'if (t == 0 && blockIdx.x == 1) asm volatile("discard.global.L2 [%0], 128;" :: "l"(o + AT) : "memory");'


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("observed", [False, True])
def test_what_is_discarded_is_lost_and_nothing_beside_it(device: gs.VirtualGPU, order: str, observed: bool) -> None:
    found, out = ran(device, LINE.replace("AT", "32"), ORDERS[order], observed=observed)
    kept = [t + 1 for t in range(128)]
    assert out == [2**32 - 1 if back(order) and 32 <= t < 64 else kept[t] for t in range(128)]
    assert found == set()


@pytest.mark.parametrize("order", ORDERS)
def test_a_discard_is_a_write(device: gs.VirtualGPU, order: str) -> None:
    found, _ = ran(device, "o[64 * blockIdx.x + t] = t + 5;" + LINE.replace("AT", "0"), ORDERS[order])
    assert found == {"race"}


def test_a_discard_beyond_an_array_shows_where_it_would_be_lost(device: gs.VirtualGPU) -> None:
    body = LINE.replace("AT", "(1 << 20)")
    assert ran(device, body, IN_TURN)[0] == set()
    with pytest.raises(gs.KernelFault, match="128 bytes"):
        ran(device, body, REVERSED, observed=False)


COPY = """__shared__ __align__(16) unsigned s[8][4];
    __shared__ unsigned long long bar;
    unsigned b = (unsigned)__cvta_generic_to_shared(&bar), sum = 0;
    if (t == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(b) : "memory");
    __syncthreads();
    for (int k = 0; k < TIMES; k++) {
        if (t == 0) asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 16;\\n"
            "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%1], [%2], 16, [%0];"
            :: "r"(b), "r"((unsigned)__cvta_generic_to_shared(s[k])), "l"(o + 64 * blockIdx.x + 4 * k) : "memory");
        __syncthreads();
        asm volatile("{ .reg .pred p;\\n L: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\\n AGAIN }"
            :: "r"(b), "r"(k % 2) : "memory");
        sum += s[k][0];
        __syncthreads();
    }
    if (t >= 32) o[64 * blockIdx.x + t] = sum;"""


@pytest.mark.parametrize("order", ORDERS)
def test_a_try_that_is_made_once_may_fail(device: gs.VirtualGPU, order: str) -> None:
    found, out = ran(device, COPY.replace("AGAIN", "").replace("TIMES", "1"), ORDERS[order])
    assert ("unwaited_copy" in found) == back(order)
    assert (out[32:64] == [1] * 32) != back(order)


@pytest.mark.parametrize("order", ORDERS)
def test_a_try_that_is_made_until_it_succeeds_is_no_weaker(device: gs.VirtualGPU, order: str) -> None:
    found, out = ran(device, COPY.replace("AGAIN", "@!p bra L;").replace("TIMES", "8"), ORDERS[order])
    assert found == set()
    assert out[32:64] == [8 + 4 * 28] * 32


LOOK_THEN_TAKE = """if (t == 0) {
    unsigned seen = atomicAdd(o, 0);
    if (seen == 1) o[1 + blockIdx.x] = 1000 + atomicAdd(o, 1);
}
__syncthreads();"""


@pytest.mark.parametrize("order", ORDERS)
def test_others_come_between_two_atomics_of_a_thread(device: gs.VirtualGPU, order: str) -> None:
    """One of two blocks looks, waits, and takes what the other has taken; in turn the second looks too late."""
    _, out = ran(device, LOOK_THEN_TAKE, ORDERS[order])
    taken = sum(word >= 1000 for word in out[1:3])
    assert taken == (2 if back(order) else 1)


def test_a_fence_behind_the_flag_orders_nothing(device: gs.VirtualGPU) -> None:
    """Whichever of the two blocks writes: half of the warps give way."""
    body = """if (t == 0 && blockIdx.x == WRITER) { o[5] = 7; atomicExch(o, 100); __threadfence(); }
        if (t == 0 && blockIdx.x != WRITER) { while (atomicAdd(o, 0) != 100) {} o[6] = o[5]; }
        __syncthreads();"""
    found = [ran(device, body.replace("WRITER", str(writer)), REVERSED)[0] for writer in (0, 1)]
    assert {"race"} in found


GRID_BARRIER = """
__device__ unsigned here, sum; __device__ volatile unsigned sense;
__device__ void meet() {
    AHEAD;
    if (threadIdx.x == 0) {
        unsigned old = sense;
        __threadfence();
        if (atomicAdd(&here, 1) == gridDim.x - 1) { LET_GO; }
        else while (sense == old) {}
        __threadfence();
    }
    __syncthreads();
}
extern "C" __global__ void k(unsigned *o) {
    for (int i = 1; i < 4; ++i) {
        if (threadIdx.x % 32 == 0) { atomicAdd(&sum, 1); __threadfence(); }
        meet();
        if (threadIdx.x == 0 && *(volatile unsigned *)&sum != i * gridDim.x * (blockDim.x / 32)) o[blockIdx.x] = i;
        __syncthreads();
        meet();
    }
}"""
RESETS = "here = 0; __threadfence(); sense = old + 1"


def went_wrong(schedule: Schedule, ahead: str, let_go: str) -> bool:
    """Whether a barrier of the grid that is made of atomics lets blocks go too early, or never."""
    with gs.use(gs.VirtualGPU("h200", workers=1, memory=64 << 20, time_limit=20)) as gpu, gpu.scheduled(schedule):
        kernel = gs.cuda(GRID_BARRIER.replace("AHEAD", ahead).replace("LET_GO", let_go))["k"]
        o = gs.to_device(np.zeros(6, np.uint32))
        found = kernel.observe(6, 96, cooperative=True)(o).findings
        return any(f.kind == "deadlock" for f in found) or bool(o.numpy().any())


@pytest.mark.parametrize("order", ORDERS)
def test_a_grid_s_barrier_holds_in_every_order(order: str) -> None:
    assert not went_wrong(ORDERS[order], "__syncthreads()", RESETS)


@pytest.mark.parametrize("order", ["reversed", "odd seed"])
def test_the_first_warps_of_a_cooperative_grid_may_be_far_ahead_of_the_others(order: str) -> None:
    assert went_wrong(ORDERS[order], "", RESETS)


@pytest.mark.parametrize("order", ["reversed", "odd seed"])
def test_who_is_let_go_may_come_to_the_next_barrier_before_this_one_is_reset(order: str) -> None:
    assert went_wrong(ORDERS[order], "__syncthreads()", "sense = old + 1; __threadfence(); atomicExch(&here, 0)")
