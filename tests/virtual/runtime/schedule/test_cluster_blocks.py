"""Thread-block clusters: launches, ranks, distributed shared memory, the cluster's barrier, and what goes wrong."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import cluster_kernels as ck
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machines import BUILDS_AND_GPU, opened_for_clusters

import gridstride as gs

Dim3 = tuple[int, int, int]


@pytest.fixture(params=BUILDS_AND_GPU)
def machine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The two builds of the virtual GPU, and the physical one."""
    yield from opened_for_clusters(request.param)


@functools.cache
def module(source: str) -> gs.Module:
    return gs.cuda(source)


def integers(shape: int | tuple[int, ...], low: int = -1000, high: int = 1000) -> np.ndarray:
    return np.random.default_rng(7).integers(low, high, shape).astype(np.int32)


def ranks(grid: Dim3, cluster: Dim3) -> np.ndarray:
    """What the kernel of that name writes for each block."""
    many, size = tuple(g // c for g, c in zip(grid, cluster, strict=True)), math.prod(cluster)
    rows = []
    for z, y, x in np.ndindex(grid[::-1]):
        own = [i % c for i, c in zip((x, y, z), cluster, strict=True)]
        rank = own[0] + cluster[0] * (own[1] + cluster[1] * own[2])
        peer = (rank + 1) % size
        where = [i // c for i, c in zip((x, y, z), cluster, strict=True)]
        addresses = [peer, rank, 1, peer, (size - 1) << 24]
        rows.append([*where, *many, *own, *cluster, rank, size, 1, *addresses])
    return np.array(rows)


SHAPES = [
    ((4, 1, 1), (1, 1, 1)), ((6, 1, 1), (2, 1, 1)), ((4, 4, 1), (2, 2, 1)), ((2, 4, 4), (2, 2, 2)),
    ((1, 2, 8), (1, 1, 8)), ((3, 4, 1), (1, 4, 1)), ((16, 2, 1), (8, 2, 1)), ((16, 1, 1), (16, 1, 1)),
]  # fmt: skip


@pytest.mark.parametrize(("grid", "cluster"), SHAPES, ids=str)
def test_blocks_know_their_place_in_the_cluster(machine: str, grid: Dim3, cluster: Dim3) -> None:
    out = np.zeros((math.prod(grid), 20), np.uint32)
    module(ck.RANKS)["ranks"].launch(grid=grid, block=32, args=[out.reshape(-1), 0], cluster=cluster)
    assert out.tolist() == ranks(grid, cluster).tolist()


def test_a_kernel_without_clusters_is_a_cluster_of_its_own(machine: str) -> None:
    out = np.zeros((6, 20), np.uint32)
    module(ck.RANKS)["ranks"][(3, 2), 32](out.reshape(-1), 0)
    want = ranks((3, 2, 1), (1, 1, 1))
    want[:, 14] = 0  # %is_explicit_cluster
    assert out.tolist() == want.tolist()


def test_dimensions_may_be_the_kernels_own(machine: str) -> None:
    own = ck.RANKS.replace("__global__ void", "__global__ void __cluster_dims__(2, 1, 2)")
    out = np.zeros((16, 20), np.uint32)
    module(own)["ranks"][(4, 2, 2), 32](out.reshape(-1), 0)
    assert out.tolist() == ranks((4, 2, 2), (2, 1, 2)).tolist()
    module(own)["ranks"].launch(grid=(4, 2, 2), block=32, args=[out.reshape(-1), 0], cluster=(2, 1, 2))
    assert out.tolist() == ranks((4, 2, 2), (2, 1, 2)).tolist()


@pytest.mark.parametrize("size", [1, 2, 4, 8, 16])
def test_blocks_hand_numbers_round(machine: str, size: int) -> None:
    out, rounds = np.zeros((16, 64), np.int32), 5
    module(ck.RING)["ring"].launch(grid=16, block=64, args=[out.reshape(-1), rounds], cluster=size)
    block = np.arange(16)
    source = block // size * size + (block - rounds) % size
    assert (out == (source * 1000 + rounds)[:, None] + np.arange(64)).all()


@pytest.mark.parametrize("size", [1, 2, 8])
def test_a_histogram_over_the_blocks_of_a_cluster(machine: str, size: int) -> None:
    x, count = integers(3000, 0, 64), np.zeros(64, np.int32)
    args = [x, x.size, 64, count]
    module(ck.light(ck.HISTOGRAM))["histogram"].launch(grid=8, block=64, args=args, shared=64 // size * 4, cluster=size)
    assert (count == np.bincount(x, minlength=64)).all()


def test_a_sum_over_a_cluster(machine: str) -> None:
    x, sums = integers(4000).astype(np.float32), np.zeros(2, np.float32)
    module(ck.light(ck.REDUCE))["reduce"].launch(grid=8, block=96, args=[x, x.size, sums], cluster=4)
    assert sums.sum() == x.sum()


# -- loads, stores and atomics of every kind --------------------------------------------------------------------------
def moving(type_: str, vector: str, generic: bool) -> str:
    """A kernel that stores what it is given into the next block, and reads it back from there and from the own one."""
    n = int(vector[1:] or 1) if vector else 1
    size = int(type_[1:]) // 8
    names = [f"%v{i}" for i in range(n)]
    item = "{" + ", ".join(names) + "}" if vector else names[0]
    register, dotted = {1: "b16", 2: "b16", 4: "b32", 8: "b64"}[size], f".{vector}" if vector else ""
    space, to = ("", "%g") if generic else (".shared::cluster", "%p")
    get = "mapa.u64 %g, %own, %r;" if generic else "mapa.shared::cluster.u32 %p, %s, %r;"
    bytes_ = size * n
    return f""".version 8.6
.target sm_90
.address_size 64
.visible .entry k(.param .u64 x, .param .u64 o) {{
    .reg .b64 %x, %o, %own, %g, %at; .reg .b32 %s, %p, %r, %n, %t, %b, %i; .reg .{register} %v<{n}>;
    .shared .align 16 .b8 data[{32 * bytes_}];
    ld.param.u64 %x, [x]; ld.param.u64 %o, [o];
    mov.u32 %t, %tid.x; mov.u32 %b, %ctaid.x; mad.lo.u32 %i, %b, 32, %t;
    mad.wide.u32 %x, %i, {bytes_}, %x;
    ld.global{dotted}.{type_} {item}, [%x];
    mov.u32 %r, %cluster_ctarank; mov.u32 %n, %cluster_nctarank; add.u32 %r, %r, 1; rem.u32 %r, %r, %n;
    mov.u32 %s, data; mad.lo.u32 %s, %t, {bytes_}, %s; cvt.u64.u32 %own, %s; cvta.shared.u64 %own, %own;
    {get}
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    st{space}{dotted}.{type_} [{to}], {item};
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    mad.wide.u32 %at, %i, {2 * bytes_}, %o;
    ld{space}{dotted}.{type_} {item}, [{to}];
    st.global{dotted}.{type_} [%at], {item};
    ld.shared{dotted}.{type_} {item}, [%s];
    st.global{dotted}.{type_} [%at + {bytes_}], {item};
    barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;
    ret;
}}"""


@pytest.mark.parametrize("generic", [False, True], ids=["shared::cluster", "generic"])
@pytest.mark.parametrize("form", ["b8", "b16", "b32", "b64", "v2.b32", "v4.b32", "v2.b64", "v4.b8"])
def test_loads_and_stores_of_every_width(machine: str, form: str, generic: bool) -> None:
    vector, _, type_ = form.rpartition(".")
    bytes_ = int(type_[1:]) // 8 * int(vector[1:] or 1) if vector else int(type_[1:]) // 8
    x = np.random.default_rng(1).integers(0, 256, (4, 32, bytes_)).astype(np.uint8)
    out = np.zeros((4, 32, 2, bytes_), np.uint8)
    kernel = gs.ptx(moving(type_, vector, generic))["k"]
    kernel.launch(grid=4, block=32, args=[gs.to_device(x), target := gs.to_device(out)], cluster=4)
    out = target.numpy()
    assert (out[:, :, 0] == x).all()
    assert (out[:, :, 1] == np.roll(x, 1, axis=0)).all()


ATOMICS = """
extern "C" __global__ void k(const int *x, int *o, unsigned long long *wide, float *sums, int generic) {
    __shared__ int s[8]; __shared__ unsigned long long w; __shared__ float f;
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, v = x[blockIdx.x * 64 + t], next = (cluster.block_rank() + 1) % cluster.num_blocks();
    if (t < 8) s[t] = t == 3 ? 0x7fffffff : t == 4 ? -1 : 0;
    if (t == 0) { w = 0; f = 0; }
    cluster.sync();
    int *p = cluster.map_shared_rank(generic ? s : &s[0], next);
    atomicAdd(p, v); atomicMax(p + 1, v); atomicOr(p + 2, v); atomicMin(p + 3, v); atomicAnd(p + 4, v | 0xff);
    atomicXor(p + 5, v);
    int old = atomicExch(p + 6, v);
    atomicCAS(p + 7, 0, v);
    atomicAdd(cluster.map_shared_rank(&w, next), (unsigned long long)v << 20);
    atomicAdd(cluster.map_shared_rank(&f, next), (float)v);
    cluster.sync();
    if (t < 8) o[blockIdx.x * 8 + t] = s[t];
    if (t == 0) { wide[blockIdx.x] = w; sums[blockIdx.x] = f; }
}
"""


def test_atomics_in_another_block(machine: str) -> None:
    x = integers((4, 64), 1, 1 << 10)
    out, wide, sums = np.zeros((4, 8), np.int32), np.zeros(4, np.uint64), np.zeros(4, np.float32)
    module(ck.HEAD + ATOMICS)["k"].launch(
        grid=4, block=64, args=[x.reshape(-1), out.reshape(-1), wide, sums, 0], cluster=2
    )
    given = x.reshape(2, 2, 64)[:, ::-1].reshape(4, 64)
    for got, v in zip(out, given, strict=True):
        whole = [f.reduce(v) for f in (np.add, np.maximum, np.bitwise_or, np.minimum)]
        assert got[:6].tolist() == [*whole, np.bitwise_and.reduce(v | 0xFF), np.bitwise_xor.reduce(v)]
        assert {got[6], got[7]} <= set(v.tolist())
    assert wide.tolist() == [int(v.sum()) << 20 for v in given]
    assert sums.tolist() == given.sum(1).tolist()


GATHER = """
extern "C" __global__ void k(const int *x, const int *rank, const int *offset, int *o) {
    __shared__ int s[64];
    auto cluster = cg::this_cluster();
    auto block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    int i = block * 64 + threadIdx.x;
    s[threadIdx.x] = x[i];
    cluster.sync();
    o[i] = cluster.map_shared_rank(s, rank[i])[offset[i]] + (cluster.query_shared_rank(
        cluster.map_shared_rank(s, rank[i])) == rank[i] ? 0 : 1 << 20);
    cluster.sync();
}
"""
CLUSTERS = [(x, y, z) for x in (1, 2, 3, 4, 8) for y in (1, 2, 3) for z in (1, 2) if x * y * z <= 16]


@settings(max_examples=25, deadline=None)
@given(cluster=st.sampled_from(CLUSTERS), many=st.tuples(*[st.integers(1, 2)] * 3), seed=st.integers(0, 2**32 - 1))
def test_any_thread_reads_any_word_of_its_cluster(cluster: Dim3, many: Dim3, seed: int) -> None:
    grid: Dim3 = tuple(m * c for m, c in zip(many, cluster, strict=True))  # type: ignore[assignment]
    blocks, size = math.prod(grid), math.prod(cluster)
    draw = np.random.default_rng(seed)
    x, rank, offset = (draw.integers(0, n, (blocks, 64)).astype(np.int32) for n in (10000, size, 64))
    out = np.zeros((blocks, 64), np.int32)
    with gs.use(_small()):
        args = [a.reshape(-1) for a in (x, rank, offset, out)]
        module(ck.LIGHT + GATHER)["k"].launch(grid=grid, block=64, args=args, cluster=cluster)
    for number, (z, y, at) in enumerate(np.ndindex(grid[::-1])):
        first = [i - i % c for i, c in zip((at, y, z), cluster, strict=True)]
        own = [rank[number] % cluster[0], rank[number] // cluster[0] % cluster[1],
               rank[number] // (cluster[0] * cluster[1])]  # fmt: skip
        there = [f + o for f, o in zip(first, own, strict=True)]
        linear = there[0] + grid[0] * (there[1] + grid[1] * there[2])
        assert (out[number] == x[linear, offset[number]]).all()


@functools.cache
def _small() -> gs.VirtualGPU:
    return gs.VirtualGPU(workers=2, time_limit=20)


# -- the barrier ------------------------------------------------------------------------------------------------------
def run(source: str, grid: int, block: int, cluster: int, words: int = 64) -> np.ndarray:
    """The integers that a kernel `k` of one pointer leaves."""
    out = np.zeros(words, np.int32)
    gs.cuda(ck.LIGHT + source)["k"].launch(grid=grid, block=block, args=[out], cluster=cluster)
    return out


def test_threads_that_have_ended_are_not_waited_for(machine: str) -> None:
    out = run(
        """extern "C" __global__ void k(int *o) {
        auto cluster = cg::this_cluster();
        if (cluster.block_rank() == 1 || threadIdx.x % 3 == 0) return;
        cluster.sync();
        atomicAdd(o, 1);
    }""",
        4, 64, 2,
    )  # fmt: skip
    assert out[0] == 2 * 42


def test_threads_may_arrive_and_go_on_before_they_wait(machine: str) -> None:
    out = run(
        """extern "C" __global__ void k(int *o) {
        __shared__ int s[32];
        auto cluster = cg::this_cluster();
        int t = threadIdx.x, other = cluster.block_rank() ^ 1;
        for (int r = 0; r < 3; ++r) {
            s[t] = 100 * blockIdx.x + t + r;
            cluster.barrier_arrive();
            int own = t * t;
            cluster.barrier_wait();
            o[(blockIdx.x * 3 + r) * 32 + t] = cluster.map_shared_rank(s, other)[31 - t] + own;
            cluster.sync();
        }
    }""",
        4, 32, 2, 4 * 3 * 32,
    )  # fmt: skip
    t, r, b = np.arange(32), np.arange(3)[:, None], np.arange(4)[:, None, None]
    assert (out.reshape(4, 3, 32) == 100 * (b ^ 1) + 31 - t + r + t * t).all()


def test_lanes_of_a_warp_may_come_from_different_places(machine: str) -> None:
    out = run(
        """extern "C" __global__ void k(int *o) {
        __shared__ int s[64];
        auto cluster = cg::this_cluster();
        int t = threadIdx.x;
        s[t] = t;
        if (t % 2) cluster.sync(); else { s[t] += 100; cluster.sync(); }
        int v = cluster.map_shared_rank(s, 1 - cluster.block_rank())[63 - t];
        if (t < 40) cluster.sync(); else cluster.sync();
        o[blockIdx.x * 64 + t] = v;
    }""",
        2, 64, 2, 128,
    )  # fmt: skip
    want = 63 - np.arange(64)
    assert (out.reshape(2, 64) == want + 100 * (want % 2 == 0)).all()


@pytest.mark.parametrize("sanitize", [False, True], ids=["fast", "observed"])
def test_lanes_of_a_warp_may_be_a_turn_apart(gpu: gs.VirtualGPU, sanitize: bool) -> None:
    """Odd lanes arrive, and wait only when even lanes, which they wait for, are at the same line a turn later."""
    gpu.sanitize = sanitize
    out = run(
        """extern "C" __global__ void k(int *o) {
        __shared__ int flag;
        auto cluster = cg::this_cluster();
        int t = threadIdx.x, *count = o + 16 + blockIdx.x / 2 * 4;
        if (t == 0) flag = 0;
        __syncthreads();
        #pragma unroll 1
        for (int r = 0; r < 3; ++r) {
            atomicAdd(count + r, 1);
            cluster.barrier_arrive();
            if (t % 2) while (atomicAdd(&flag, 0) == r);
            cluster.barrier_wait();
            if (atomicAdd(count + r, 0) != 128) o[4] = 1;
            if (t == 0) atomicAdd(&flag, 1);
        }
        __syncthreads();
        atomicAdd(o + blockIdx.x, flag);
    }""",
        4, 64, 2,
    )  # fmt: skip
    assert out[:5].tolist() == [3 * 64] * 4 + [0]


def test_blocks_of_a_cluster_run_together(machine: str) -> None:
    """Each spins until all have come: they must take turns."""
    out = run(
        """extern "C" __global__ void k(int *o) {
        int cluster = blockIdx.x / 8;
        if (threadIdx.x == 0) {
            atomicAdd(o + cluster, 1);
            while (atomicAdd(o + cluster, 0) < 8);
        }
        __syncthreads();
        if (threadIdx.x == 33) atomicAdd(o + 8, (int)cg::this_cluster().num_blocks());
    }""",
        32, 64, 8,
    )  # fmt: skip
    assert out[:4].tolist() == [8] * 4
    assert out[8] == 32 * 8


def test_a_cooperative_grid_of_clusters_meets(machine: str) -> None:
    if machine == "physical":
        pytest.skip("the driver takes either, and says so in words of its own")
    kernel = gs.cuda(
        ck.HEAD
        + """extern "C" __global__ void k(int *o) {
        __shared__ int s;
        auto cluster = cg::this_cluster();
        auto grid = cg::this_grid();
        for (int r = 0; r < 3; ++r) {
            if (threadIdx.x == 0) s = blockIdx.x;
            cluster.sync();
            if (threadIdx.x == 0) o[blockIdx.x] += *cluster.map_shared_rank(&s, (cluster.block_rank() + 1) % 4);
            grid.sync();
            if (threadIdx.x == 1 && o[(blockIdx.x + 5) % gridDim.x] == 0) o[64] = 1;
            grid.sync();
        }
    }"""
    )["k"]
    out = np.zeros(65, np.int32)
    kernel.launch(grid=8, block=32, args=[out], cooperative=True, cluster=4)
    block = np.arange(8)
    assert out[:8].tolist() == (3 * (block // 4 * 4 + (block + 1) % 4)).tolist()


def test_whole_clusters_are_counted(gpu: gs.VirtualGPU) -> None:
    """Of 512 blocks in clusters of eight, sixteen clusters: one in four."""
    kernel = module(ck.RING)["ring"]
    whole = kernel.observe(64, 64, cluster=8)(np.zeros(64 * 64, np.int32), 3)
    part = kernel.observe(512, 64, cluster=8)(np.zeros(512 * 64, np.int32), 3)
    assert not whole.findings
    assert not part.findings
    assert part.counters.instructions == 8 * whole.counters.instructions


def test_generic_atomics_keep_what_is_subnormal_in_shared_memory(machine: str) -> None:
    """Seen on an H200; in global memory atom.add.f32 flushes it."""
    kernel = gs.cuda("""extern "C" __global__ void k(float *o, const float *x) {
        __shared__ float s[32];
        unsigned long long own = (unsigned long long)&s[threadIdx.x], far;
        asm volatile("mapa.u64 %0, %1, 1;" : "=l"(far) : "l"(own));
        s[threadIdx.x] = 0;
        asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
        float old;
        for (int i = 0; i < 2; ++i) {
            asm volatile("atom.add.f32 %0, [%1], %2;" : "=f"(old) : "l"(far), "f"(*x) : "memory");
            asm volatile("atom.add.f32 %0, [%1], %2;" : "=f"(old) : "l"(o + 2), "f"(*x) : "memory");
        }
        asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
        if (threadIdx.x == 0) o[blockIdx.x] = s[0];
    }""")["k"]
    tiny, out = np.full(1, 71362, np.uint32).view(np.float32), np.zeros(3, np.float32)
    kernel.launch(grid=2, block=1, args=[out, tiny], cluster=2)
    assert out.view(np.uint32).tolist() == [0, 4 * 71362, 0]
