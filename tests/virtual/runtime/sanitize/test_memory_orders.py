"""What orders memory and what only looks like it: accesses that acquire, relaxed arrivals, scopes too narrow.

Each kernel is one message with one word of PTX at stake: the weak one is a race, the strong one and the weak one behind
a fence are none.
"""

from __future__ import annotations

import cluster_kernels as ck
import numpy as np
import pytest

import gridstride as gs


def kinds(source: str, grid: int, block: int, cluster: int | None = None) -> set[str]:
    """The kinds of findings of a kernel `k` that has an array of 256 integers."""
    kernel = gs.cuda(ck.light(source))["k"]
    return {f.kind for f in kernel.observe(grid, block, cluster=cluster)(np.zeros(256, np.int32)).findings}


TICKET = """__device__ int part[8];
__device__ unsigned ticket;
extern "C" __global__ void k(int *o) {
    part[blockIdx.x] = 7;
    FENCE;
    unsigned old;
    asm volatile("atom.SEM.gpu.SPACEinc.u32 %0, [%1], %2;" : "=r"(old) : "l"(&ticket), "r"(gridDim.x - 1) : "memory");
    if (old == gridDim.x - 1) { AFTER; for (int b = 0; b < gridDim.x; b++) o[b] = part[b]; }
}
"""


@pytest.mark.parametrize("space", ["", "global."])
@pytest.mark.parametrize(
    ("sem", "fence", "after", "found"),
    [
        ("acquire", "", "", {"race"}),
        ("acquire", "", "__threadfence()", {"race"}),
        ("acquire", "__threadfence()", "", set()),
        ("release", "", "__threadfence()", set()),
        ("acq_rel", "", "", set()),
    ],
)
def test_an_atomic_that_acquires_releases_nothing(
    gpu: gs.VirtualGPU, sem: str, fence: str, after: str, found: set[str], space: str
) -> None:
    words = {"SEM": sem, "FENCE": fence, "AFTER": after, "SPACE": space}
    source = TICKET
    for name, word in words.items():
        source = source.replace(name, word)
    assert kinds(source, 8, 1) == found


BARRIER = (
    ck.HEAD
    + """extern "C" __global__ void k(int *o) {
    __shared__ int s[32];
    auto cluster = cg::this_cluster();
    cluster.sync();
    cluster.map_shared_rank(s, 1 - cluster.block_rank())[threadIdx.x] = threadIdx.x;
    FENCE;
    asm volatile("barrier.cluster.arriveSEM.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.aligned;" ::: "memory");
    o[32 * blockIdx.x + threadIdx.x] = s[31 - threadIdx.x];
}
"""
)


@pytest.mark.parametrize(
    ("sem", "fence", "found"),
    [
        (".relaxed", "", {"race"}),
        (".relaxed", "__threadfence()", set()),
        (".release", "", set()),
        ("", "", set()),
    ],
)
def test_a_relaxed_arrival_at_the_cluster_s_barrier_orders_no_memory(
    gpu: gs.VirtualGPU, sem: str, fence: str, found: set[str]
) -> None:
    assert kinds(BARRIER.replace("SEM", sem).replace("FENCE", fence), 4, 32, 2) == found


LIFE = (
    ck.HEAD
    + """extern "C" __global__ void k(int *o) {
    __shared__ int s[32];
    auto cluster = cg::this_cluster();
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\\n barrier.cluster.wait.aligned;" ::: "memory");
    int *there = cluster.map_shared_rank(s, 1 - cluster.block_rank());
    there[threadIdx.x] = threadIdx.x;
    o[threadIdx.x] = atomicAdd(there + threadIdx.x, 1);
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\\n barrier.cluster.wait.aligned;" ::: "memory");
}
"""
)


def test_a_relaxed_arrival_says_that_a_block_is_there_and_that_it_is_through(gpu: gs.VirtualGPU) -> None:
    assert kinds(LIFE, 2, 32, 2).isdisjoint({"unstarted_block", "exited_block"})


REMOTE = (
    ck.HEAD
    + """extern "C" __global__ void k(int *o) {
    __shared__ int s[32];
    __shared__ unsigned long long bar;
    auto cluster = cg::this_cluster();
    unsigned here = (unsigned)__cvta_generic_to_shared(&bar), there, first = cluster.block_rank() == 0;
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 32;" :: "r"(here) : "memory");
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    cluster.sync();
    if (first) {
        cluster.map_shared_rank(s, 1)[threadIdx.x] = threadIdx.x;
        FENCE;
        asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(there) : "r"(here));
        asm volatile("mbarrier.arriveSEM.shared::cluster.b64 _, [%0];" :: "r"(there) : "memory");
    } else {
        asm volatile("{ .reg .pred p;\\n L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], 0;\\n"
                     "@!p bra L; }" :: "r"(here) : "memory");
        o[threadIdx.x] = s[threadIdx.x];
    }
    cluster.sync();
}
"""
)


@pytest.mark.parametrize(
    ("sem", "fence", "found"),
    [
        (".release.cta", "", {"race"}),
        (".relaxed.cluster", "", {"race"}),
        (".relaxed.cluster", "__threadfence()", set()),
        (".release.cluster", "", set()),
        ("", "", set()),  # .cta by default: published kernels do it, and never spell it out
    ],
)
def test_a_remote_arrival_of_its_block_s_scope_tells_other_blocks_nothing(
    gpu: gs.VirtualGPU, sem: str, fence: str, found: set[str]
) -> None:
    assert kinds(REMOTE.replace("SEM", sem).replace("FENCE", fence), 2, 32, 2) == found


FLAG = (
    ck.HEAD
    + """extern "C" __global__ void k(int *o) {
    __shared__ int box, flag;
    auto cluster = cg::this_cluster();
    flag = 0;
    cluster.sync();
    if (cluster.block_rank() == 1) {
        *cluster.map_shared_rank(&box, 0) = 7;
        FENCE;
        atomicExch(cluster.map_shared_rank(&flag, 0), 1);
    } else {
        while (atomicAdd(&flag, 0) == 0);
        FENCE;
        *o = box;
    }
    cluster.sync();
}
"""
)


@pytest.mark.parametrize(
    ("fence", "found"),
    [
        ("__threadfence_block()", {"race"}),
        ("", {"race"}),
        ("__threadfence()", set()),
        ('asm volatile("fence.acq_rel.cluster;" ::: "memory")', set()),
    ],
)
def test_a_fence_of_its_block_s_scope_tells_other_blocks_of_the_cluster_nothing(
    gpu: gs.VirtualGPU, fence: str, found: set[str]
) -> None:
    assert kinds(FLAG.replace("FENCE", fence), 2, 1, 2) == found


TILE = """extern "C" __global__ void k(int *o) {
    __shared__ int s[64];
    __shared__ unsigned long long bar;
    unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 64;" :: "r"(at) : "memory");
    __syncthreads();
    s[threadIdx.x] = threadIdx.x;
    FENCE;
    asm volatile("{ .reg .b64 s; .reg .pred p;\\n mbarrier.arriveARRIVE.shared::cta.b64 s, [%0];\\n"
                 "L: mbarrier.test_waitWAIT.shared::cta.b64 p, [%0], s;\\n @!p bra L; }" :: "r"(at) : "memory");
    FENCE;
    o[threadIdx.x] = s[63 - threadIdx.x];
}
"""


@pytest.mark.parametrize(
    ("arrive", "wait", "fence", "found"),
    [
        (".relaxed.cta", ".relaxed.cta", "", {"race"}),
        (".relaxed.cta", ".acquire.cta", "", {"race"}),
        (".release.cta", ".relaxed.cta", "", {"race"}),
        (".relaxed.cta", ".relaxed.cta", "__threadfence_block()", set()),
        (".release.cta", ".acquire.cta", "", set()),
        ("", "", "", set()),
    ],
)
def test_a_relaxed_arrival_and_a_relaxed_wait_order_no_memory(
    gpu: gs.VirtualGPU, arrive: str, wait: str, fence: str, found: set[str]
) -> None:
    source = TILE.replace("ARRIVE", arrive).replace("WAIT", wait).replace("FENCE", fence)
    assert kinds(source, 1, 64) == found


SHARED_FLAG = """extern "C" __global__ void k(int *o) {
    __shared__ int data;
    __shared__ volatile int flag;
    volatile int* f = PLACE;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x >= 32) {
        if (threadIdx.x == 32) { data = o[40] + 7; BETWEEN; SET; }
    } else {
        while (!*f);
        o[threadIdx.x] = data;
    }
}
"""
TOLD = (
    'asm volatile("st.SEM.cta.shared.u32 [%0], 1;" :: "r"((unsigned)__cvta_generic_to_shared((void*)&flag)) : "memory")'
)


@pytest.mark.parametrize("place", ["&flag", "o[1] < 0 ? (volatile int*)o : &flag"])
@pytest.mark.parametrize(
    ("between", "set_", "found"),
    [
        ("", "*f = 1", {"race"}),
        ("", TOLD.replace("SEM", "relaxed"), {"race"}),
        ("__threadfence_block()", "*f = 1", set()),
        ("__threadfence()", "*f = 1", set()),
        ("", TOLD.replace("SEM", "release"), set()),
        ("", "atomicExch((int*)&flag, 1)", set()),
        ('asm volatile("fence.acq_rel.cta;" ::: "memory")', TOLD.replace("SEM", "relaxed"), set()),
    ],
)
def test_a_volatile_flag_in_shared_memory_publishes_what_is_behind_a_fence(
    gpu: gs.VirtualGPU, place: str, between: str, set_: str, found: set[str]
) -> None:
    """As one in global memory does, whether the compiler knows that it is in shared memory or not."""
    source = SHARED_FLAG.replace("PLACE", place).replace("BETWEEN", between).replace("SET", set_)
    assert kinds(source, 1, 64) == found


BACK = """extern "C" __global__ void k(int *o) {
    __shared__ int data;
    __shared__ volatile int full, empty;
    if (threadIdx.x == 0) full = empty = 0;
    __syncthreads();
    for (int i = 1; i < 4; i++) {
        if (threadIdx.x == 32) {
            while (empty < i - 1);
            data = i;
            __threadfence_block();
            full = i;
        } else if (threadIdx.x == 0) {
            while (full < i);
            o[i] = data;
            BEHIND;
            empty = i;
        }
    }
}
"""


@pytest.mark.parametrize(("behind", "found"), [("", {"race"}), ("__threadfence_block()", set())])
def test_who_has_read_says_so_behind_a_fence(gpu: gs.VirtualGPU, behind: str, found: set[str]) -> None:
    assert kinds(BACK.replace("BEHIND", behind), 1, 64) == found
