"""Kernels for thread-block clusters, as they run on a virtual and on a physical GPU."""

from __future__ import annotations

HEAD = """#include <cooperative_groups.h>
namespace cg = cooperative_groups;
"""

LIGHT = (
    """namespace cg { struct Cluster {
  __device__ unsigned read(int what) { unsigned r;
    if (what) asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(r));
    else asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
    return r; }
  __device__ unsigned block_rank() { return read(0); }
  __device__ unsigned num_blocks() { return read(1); }
  __device__ void barrier_arrive() { asm volatile("barrier.cluster.arrive;" ::: "memory"); }
  __device__ void barrier_wait() { asm volatile("barrier.cluster.wait;" ::: "memory"); }
  __device__ void sync() { barrier_arrive(); barrier_wait(); }
  template <typename T> __device__ T *map_shared_rank(T *p, int rank) { T *q;
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(q) : "l"(p), "r"(rank)); return q; }
  __device__ int query_shared_rank(void *p) { int r;
    asm volatile("getctarank.u64 %0, %1;" : "=r"(r) : "l"(p)); return r; }
};
__device__ Cluster this_cluster() { return {}; } }
""".replace("\n", " ")
    + "\n\n"
)
"""As much of cooperative groups as most tests need, on as many lines: the real one takes seconds to compile."""


def light(source: str) -> str:
    """The source without the headers of cooperative groups."""
    return source.replace(HEAD, LIGHT)


RANKS = """
extern "C" __global__ void ranks(unsigned *o, int record) {
    __shared__ int s[4];
    unsigned v[20], at, there, back, top;
    int i = 0;
    #define READ(name) { unsigned x; asm volatile("mov.u32 %0, %%" name ";" : "=r"(x)); v[i++] = x; }
    READ("clusterid.x") READ("clusterid.y") READ("clusterid.z")
    READ("nclusterid.x") READ("nclusterid.y") READ("nclusterid.z")
    READ("cluster_ctaid.x") READ("cluster_ctaid.y") READ("cluster_ctaid.z")
    READ("cluster_nctaid.x") READ("cluster_nctaid.y") READ("cluster_nctaid.z")
    READ("cluster_ctarank") READ("cluster_nctarank")
    { unsigned x; asm volatile("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(x));
      v[i++] = x; }
    unsigned own = v[12], peer = (own + 1) % v[13];
    at = (unsigned)__cvta_generic_to_shared(s + 1);
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(peer));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(v[15]) : "r"(there));
    asm volatile("getctarank.shared::cluster.u32 %0, %1;" : "=r"(v[16]) : "r"(at));
    unsigned long long generic, far;
    asm volatile("cvta.shared::cluster.u64 %0, %1;" : "=l"(generic) : "l"((unsigned long long)there));
    asm volatile("mapa.u64 %0, %1, %2;" : "=l"(far) : "l"(s + 1), "r"(peer));
    v[17] = generic == far;
    asm volatile("getctarank.u64 %0, %1;" : "=r"(v[18]) : "l"(far));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(back) : "r"(at), "r"(0));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(top) : "r"(at), "r"(v[13] - 1));
    v[19] = top - back;
    unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    for (int j = 0; j < 20; ++j) o[block * 20 + j] = v[j];
    asm volatile("barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;" ::: "memory");
}
"""
"""Twenty values for each block: special registers, and what mapa, getctarank and cvta make of one another."""

RING = (
    HEAD
    + """
extern "C" __global__ void ring(int *o, int rounds) {
    __shared__ int s[2][64];
    auto cluster = cg::this_cluster();
    int t = threadIdx.x, n = cluster.num_blocks(), me = cluster.block_rank();
    s[0][t] = blockIdx.x * 1000 + t;
    cluster.sync();
    for (int r = 0; r < rounds; ++r) {
        int *next = cluster.map_shared_rank(&s[(r + 1) % 2][0], (me + 1) % n);
        next[t] = s[r % 2][t] + 1;
        cluster.sync();
    }
    o[blockIdx.x * 64 + t] = s[rounds % 2][t];
}
"""
)
"""Blocks of a cluster hand 64 numbers on, round by round."""

HISTOGRAM = (
    HEAD
    + """
extern "C" __global__ void histogram(const int *x, int n, int bins, int *count) {
    extern __shared__ int s[];
    auto cluster = cg::this_cluster();
    int size = cluster.num_blocks(), own = bins / size;
    for (int i = threadIdx.x; i < own; i += blockDim.x) s[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        int bin = x[i];
        atomicAdd(cluster.map_shared_rank(s, bin / own) + bin % own, 1);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < own; i += blockDim.x) atomicAdd(&count[cluster.block_rank() * own + i], s[i]);
}
"""
)
"""The programming guide's example in kind: each block of a cluster holds a part of the bins."""

REDUCE = (
    HEAD
    + """
extern "C" __global__ void reduce(const float *x, int n, float *sums) {
    __shared__ float part[8];
    auto cluster = cg::this_cluster();
    float mine = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) mine += x[i];
    for (int d = 16; d; d /= 2) mine += __shfl_xor_sync(-1, mine, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = mine;
    cluster.sync();
    if (cluster.block_rank() == 0 && threadIdx.x == 0) {
        float total = 0;
        for (int r = 0; r < cluster.num_blocks(); ++r)
            for (int w = 0; w < blockDim.x / 32; ++w) total += cluster.map_shared_rank(part, r)[w];
        sums[blockIdx.x / cluster.num_blocks()] = total;
    }
    cluster.sync();
}
"""
)

BARRIERS = """
typedef unsigned long long word;
__device__ unsigned at(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ unsigned map(unsigned a, unsigned rank) {
    unsigned d; asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(d) : "r"(a), "r"(rank)); return d; }
__device__ unsigned rank() { unsigned r; asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r)); return r; }
__device__ unsigned size() { unsigned r; asm volatile("mov.u32 %0, %%cluster_nctarank;" : "=r"(r)); return r; }
__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;" ::: "memory"); }
__device__ void init(word *b, int n) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" :: "r"(at(b)), "r"(n) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }
__device__ void arrive_remote(unsigned b) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" :: "r"(b) : "memory"); }
__device__ void expect(word *b, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at(b)), "r"(bytes) : "memory"); }
__device__ void expect_remote(unsigned b, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%0], %1;"
                 :: "r"(b), "r"(bytes) : "memory"); }
__device__ void wait(word *b, int parity) {
    asm volatile("{ .reg .pred p; L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%0], %1; @!p bra L; }"
        :: "r"(at(b)), "r"(parity) : "memory"); }
"""

PIPELINE = (
    BARRIERS
    + """
extern "C" __global__ void pipeline(const int *x, int *o, int steps) {
    // Block 0 of two produces into block 1's buffers, two of them, with remote full and empty barriers.
    __shared__ int buffer[2][32];
    __shared__ word full[2], empty[2];
    int t = threadIdx.x;
    if (t == 0) for (int i = 0; i < 2; ++i) { init(&full[i], 32); init(&empty[i], 32); }
    cluster_sync();
    int pair = blockIdx.x / 2;
    if (rank() == 0) {
        for (int i = 0; i < steps; ++i) {
            if (i >= 2) wait(&empty[i % 2], (i / 2 - 1) % 2);
            asm volatile("st.shared::cluster.u32 [%0], %1;"
                :: "r"(map(at(&buffer[i % 2][t]), 1)), "r"(x[(pair * steps + i) * 32 + t] * 2) : "memory");
            arrive_remote(map(at(&full[i % 2]), 1));
        }
    } else {
        for (int i = 0; i < steps; ++i) {
            wait(&full[i % 2], i / 2 % 2);
            o[(pair * steps + i) * 32 + t] = buffer[i % 2][31 - t];
            arrive_remote(map(at(&empty[i % 2]), 0));
        }
    }
    cluster_sync();
}
"""
)
"""A producer block and a consumer block with two stages between them."""

STORES = (
    BARRIERS
    + """
extern "C" __global__ void stores(const int *x, int *o) {
    // Each block sends to the next one: 4, 8 and 16 bytes for each thread, then sums.
    __shared__ alignas(16) int a[32], sum, most;
    __shared__ alignas(16) long long b[32];
    __shared__ alignas(16) int c[32][4];
    __shared__ word bar;
    int t = threadIdx.x, next = (rank() + 1) % size();
    if (t == 0) { init(&bar, 1); sum = 0; most = -1000; expect(&bar, 32 * (4 + 8 + 16 + 4 + 4)); }
    cluster_sync();
    int v = x[blockIdx.x * 32 + t];
    unsigned there = map(at(&bar), next);
    #define SEND(type, address, value) \\
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes." type " [%0], %1, [%2];" \\
            :: "r"(map(at(address), next)), value, "r"(there) : "memory")
    SEND("b32", &a[t], "r"(v));
    SEND("b64", &b[t], "l"((long long)v << 33));
    asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%0], {%1, %2, %3, %4}, [%5];"
        :: "r"(map(at(&c[t][0]), next)), "r"(v), "r"(v + 1), "r"(v + 2), "r"(v + 3), "r"(there) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.s32 [%0], %1, [%2];"
        :: "r"(map(at(&sum), next)), "r"(v), "r"(there) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.s32 [%0], %1, [%2];"
        :: "r"(map(at(&most), next)), "r"(v), "r"(there) : "memory");
    wait(&bar, 0);
    int *out = o + (blockIdx.x * 32 + t) * 5;
    out[0] = a[t]; out[1] = (int)(b[t] >> 33); out[2] = c[t][0] + c[t][3]; out[3] = sum; out[4] = most;
    cluster_sync();
}
"""
)

BULK = (
    BARRIERS
    + """
extern "C" __global__ void bulk(const int *x, int *o, int mask) {
    // Rank 0 sends 128 ints of global memory to the blocks of the mask; each block then 64 of them to the next.
    __shared__ alignas(128) int in[128], from[64];
    __shared__ word first, second;
    int t = threadIdx.x, next = (rank() + 1) % size(), cluster = blockIdx.x / size();
    if (t == 0) { init(&first, 1); init(&second, 1); }
    in[t] = -1; in[t + 64] = -1;
    cluster_sync();
    bool chosen = mask >> rank() & 1;
    if (t == 0) {
        if (chosen) expect(&first, 512);
        expect(&second, 256);
    }
    cluster_sync();
    if (t == 0 && rank() == 0)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
            "[%0], [%1], 512, [%2], %3;"
            :: "r"(at(in)), "l"(x + cluster * 128), "r"(at(&first)), "h"((unsigned short)mask) : "memory");
    if (chosen) wait(&first, 0);
    in[t] += rank();
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    if (t == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 256, [%2];"
            :: "r"(map(at(from), next)), "r"(at(in)), "r"(map(at(&second), next)) : "memory");
    wait(&second, 0);
    o[blockIdx.x * 128 + t] = from[t];
    o[blockIdx.x * 128 + 64 + t] = in[64 + t];
    cluster_sync();
}
"""
)

TILE = (
    BARRIERS
    + """
struct alignas(64) Map { char bytes[128]; };
extern "C" __global__ void tile(const __grid_constant__ Map map_, float *o) {
    // Every block of four fetches a quarter of a 32 x 32 tile for all four.
    __shared__ alignas(128) float s[32][32];
    __shared__ word bar;
    int t = threadIdx.x, n = size(), rows = 32 / n;
    if (t == 0) { init(&bar, 1); expect(&bar, sizeof s); }
    cluster_sync();
    if (t == 0)
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
            ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;"
            :: "r"(at(&s[rank() * rows][0])), "l"(&map_), "r"((int)(blockIdx.x / n) * 32), "r"((int)rank() * rows),
               "r"(at(&bar)), "h"((unsigned short)((1 << n) - 1)) : "memory");
    wait(&bar, 0);
    for (int i = t; i < 1024; i += blockDim.x) o[blockIdx.x * 1024 + i] = s[i / 32][i % 32] * (rank() + 1);
    cluster_sync();
}
"""
)
"""A tile that the blocks of a cluster load together; the map's box has as many rows as one block loads."""

MATMUL = (
    BARRIERS
    + """
extern "C" __global__ void matmul(const float *a, const float *b, float *c, int steps) {
    // Two blocks of a cluster have 16 rows of C each and share the tiles of B: each fetches half of them for both.
    // Warp 0 produces, warps 1 and 2 consume; a stage is free when the consumers of both blocks have said so to both.
    constexpr int STAGES = 3, TILE = 256;
    __shared__ alignas(128) float as[STAGES][TILE], bs[STAGES][TILE];
    __shared__ word full[STAGES], empty[STAGES];
    int t = threadIdx.x, warp = t / 32, lane = t % 32;
    unsigned own = rank();
    if (t == 0) for (int i = 0; i < STAGES; ++i) { init(&full[i], 1); init(&empty[i], 4); }
    cluster_sync();
    if (warp == 0) {
        if (lane == 0)
            for (int k = 0; k < steps; ++k) {
                int s = k % STAGES;
                if (k >= STAGES) wait(&empty[s], (k / STAGES - 1) % 2);
                expect(&full[s], 2 * TILE * 4);
                const float *mine = a + (blockIdx.x * steps + k) * TILE, *half = b + k * TILE + own * TILE / 2;
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 1024, "
                    "[%2];" :: "r"(at(as[s])), "l"(mine), "r"(at(&full[s])) : "memory");
                asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster "
                    "[%0], [%1], 512, [%2], %3;" :: "r"(at(bs[s] + own * TILE / 2)), "l"(half), "r"(at(&full[s])),
                    "h"((unsigned short)3) : "memory");
            }
    } else {
        float sum[4] = {};
        int i = t - 32, column = i % 16, row = i / 16 * 4;
        for (int k = 0; k < steps; ++k) {
            int s = k % STAGES;
            wait(&full[s], k / STAGES % 2);
            for (int j = 0; j < 16; ++j)
                for (int r = 0; r < 4; ++r) sum[r] += as[s][(row + r) * 16 + j] * bs[s][j * 16 + column];
            __syncwarp();
            if (lane < 2) arrive_remote(map(at(&empty[s]), lane));
        }
        for (int r = 0; r < 4; ++r) c[(blockIdx.x * 16 + row + r) * 16 + column] = sum[r];
    }
    cluster_sync();
}
"""
)
"""A pipeline as fast matrix multiplications have it: multicast tiles, full and empty barriers across two blocks."""
