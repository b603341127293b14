"""What is set, or stored, by others than plain stores: no false alarms, and the wrong twins are found."""

from __future__ import annotations

import numpy as np
import pytest

import gridstride as gs

RDC = ("-rdc=true",)


@pytest.fixture
def device() -> gs.VirtualGPU:
    return gs.VirtualGPU(workers=1, memory=64 << 20, time_limit=20)


def kinds(run: gs.Run) -> set[str]:
    return {found.kind for found in run.findings}


REMOTE = {
    "store": "there[t] = t;",
    "atomic": "atomicExch(&there[t], t);",
    "st.async": """asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.b32 [%0], %1, [%2];"
        :: "r"(peer(&row[t], other)), "r"(t), "r"(peer(&bar, other)) : "memory");""",
    "bulk copy": """own[t] = t;
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        __syncthreads();
        if (t == 0)
            asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                :: "r"(peer(row, other)), "r"((unsigned)__cvta_generic_to_shared(own)), "r"(peer(&bar, other))
                : "memory");""",
}


def remote(how: str) -> str:
    """Two blocks write to each other's `row`, then read their own."""
    counted = how in ("st.async", "bulk copy")
    wait = """asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.shared.b64 p, [%0], 0; @!p bra L; }"
        :: "r"((unsigned)__cvta_generic_to_shared(&bar)) : "memory");"""
    return f"""#include <cooperative_groups.h>
    __device__ unsigned peer(const void* p, unsigned rank) {{
        unsigned at = (unsigned)__cvta_generic_to_shared(p), there;
        asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(rank));
        return there;
    }}
    extern "C" __global__ void __cluster_dims__(2, 1, 1) k(int* out) {{
        __shared__ alignas(16) int row[32], own[32];
        __shared__ unsigned long long bar;
        auto all = cooperative_groups::this_cluster();
        const unsigned other = all.block_rank() ^ 1, t = threadIdx.x;
        int* there = all.map_shared_rank(row, other);
        if (t == 0) {{
            const unsigned at = (unsigned)__cvta_generic_to_shared(&bar);
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" :: "r"(at));
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], 128;" :: "r"(at) : "memory");
        }}
        own[t] = 0;
        all.sync();
        {REMOTE.get(how, "")}
        {wait if counted else ""}
        all.sync();
        out[blockIdx.x * 32 + t] = row[t] + own[0] * 0;
    }}"""


@pytest.mark.parametrize("how", REMOTE)
def test_what_another_block_of_the_cluster_wrote_is_set(device: gs.VirtualGPU, how: str) -> None:
    out = np.zeros(64, np.int32)
    with gs.use(device):
        run = gs.cuda(remote(how))["k"].observe(2, 32)(out)
    assert run.findings == ()
    assert out.tolist() == [*range(32)] * 2


def test_shared_memory_that_no_block_of_the_cluster_wrote_is_found(device: gs.VirtualGPU) -> None:
    with gs.use(device):
        run = gs.cuda(remote("nothing"))["k"].observe(2, 32)(np.zeros(64, np.int32))
    assert kinds(run) == {"uninitialised_read"}


ANSWERS = {
    "malloc": "cudaMalloc((void **)&got, 64);",
    "attribute": "cudaDeviceGetAttribute((int *)&got, cudaDevAttrWarpSize, 0);",
    "nothing": "",
}


@pytest.mark.parametrize("ask", ANSWERS)
def test_what_the_device_runtime_answers_is_set(device: gs.VirtualGPU, ask: str) -> None:
    source = f"""__device__ __noinline__ void look(long long *p) {{ asm volatile("" :: "l"(p) : "memory"); }}
    __global__ void k(int *o) {{ long long got; look(&got); {ANSWERS[ask]} *o = (int)got != 0; }}"""
    with gs.use(device):
        run = gs.cuda(source, options=RDC)["k"].observe(1, 1)(np.zeros(1, np.int32))
    assert kinds(run) == ({"uninitialised_read"} if ask == "nothing" else set())


TILES = """struct alignas(64) Map {{ char bytes[128]; }};
extern "C" __global__ void k(const __grid_constant__ Map to) {{
    __shared__ alignas(1024) float tile[2][8 * 32];
    for (int i = threadIdx.x; i < 256; i += 64) tile[0][i] = i, tile[1][i] = i + {more};
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x % 32 == 0) {{
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {{%1, %1}}], [%2];"
            :: "l"(&to), "r"(0), "r"((unsigned)__cvta_generic_to_shared(tile[threadIdx.x / 32])) : "memory");
        asm volatile("cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;" ::: "memory");
    }}
}}"""


@pytest.mark.parametrize(("more", "found"), [(0, set()), (1, {"race"})], ids=["equal", "different"])
@pytest.mark.parametrize("swizzle", [0, 128])
def test_tiles_that_two_warps_store_to_one_place_race_where_they_differ(
    device: gs.VirtualGPU, more: int, found: set[str], swizzle: int
) -> None:
    """Triton has each warpgroup store the tile that all have."""
    with gs.use(device):
        target = gs.to_device(np.zeros((8, 32), np.float32))
        to = gs.tensor_map(target, (8, 32), swizzle=swizzle)
        run = gs.cuda(TILES.format(more=more))["k"].observe(1, 64)(to)
    assert kinds(run) == found


def test_the_heap_remembers_nothing_of_launches_before_a_fast_one(device: gs.VirtualGPU) -> None:
    """A block that the fast build wrote lies where an observed kernel left one unwritten."""
    source = """__device__ int *kept;
    extern "C" __global__ void take(int n) { int *p = (int *)malloc(64); if (n) free(p); else kept = p; }
    extern "C" __global__ void fill() { kept = (int *)malloc(64); for (int i = 0; i < 16; ++i) kept[i] = i; }
    extern "C" __global__ void look(int *o) { o[0] = kept[3]; }"""
    with gs.use(device):
        module, out = gs.cuda(source), np.zeros(1, np.int32)
        assert module["take"].observe(1, 1)(1).findings == ()
        module["fill"][1, 1]()
        assert module["look"].observe(1, 1)(out).findings == ()
    assert out[0] == 3
