// 03 mma: all five products on the tensor cores; weights and slopes are the left side of the next ones as they lie.
//
// Moves: instructions, and shared wavefronts. The products are made turned, S^T = K Q^T and dP^T = V dO^T: then P^T and
//   dS^T lie in the registers in the order in which dV += P^T dO and dK += dS^T Q want their left side. Only dQ += dS K
//   is a sum over keys of all warps: dS goes through shared memory for it. The next tile is on its way by cp.async.
// Mapping: 4 warps of 16 keys each, tiles of 64 queries. Of each 16x8 piece lane l has rows l / 4 and l / 4 + 8, and
//   columns 2 (l % 4) and the next. For dQ a warp has 16 queries. Chunk c, 16 bytes, of row r lies at c ^ (r % 8).
//
// entry: attention_backward_mma
// block: 128
// grid: ceil(K/64)*H
// shared: 2*64*(6*128+64)+4*4*64
// needs: 8.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 128
#endif
#ifndef BFLOAT16
#define TYPE "f16"
typedef __half Element;
#else
#define TYPE "bf16"
typedef __nv_bfloat16 Element;
#endif

constexpr int D = HEAD_WIDTH;
constexpr int WARPS = 4;
constexpr int THREADS = 32 * WARPS;
constexpr int KEYS = 16 * WARPS;     // of a block
constexpr int QUERIES = 64;          // of a tile
constexpr int CHUNKS = D / 8;        // of 16 bytes, of a row
constexpr int N = QUERIES / 8;       // pieces of a row of scores
constexpr int PART = D / 16;         // pieces of a row of dQ that are made at a time, half of them
constexpr float LOG2_E = 1.44269504f;

struct Stage {
    Element q[QUERIES * D], dout[QUERIES * D];
    float lse[QUERIES], delta[QUERIES];
};

struct Memory {
    Element k[KEYS * D], v[KEYS * D];
    Element ds[KEYS * QUERIES];
    Stage stage[2];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// Where chunk c of row r lies in a tile, in elements.
__device__ __forceinline__ int in_tile(int r, int c) { return r * D + (c ^ r % 8) * 8; }

// The same of slopes, whose rows are keys.
__device__ __forceinline__ int in_ds(int r, int c) { return r * QUERIES + (c ^ r % 8) * 8; }

// Ask for rows from `first` on; beyond the last one zeros.
template <int HEIGHT>
__device__ __forceinline__ void fetch(Element* tile, const Element* from, int first, int rows)
{
#pragma unroll
    for (int i = 0; i < HEIGHT * CHUNKS / THREADS; ++i) {
        const int e = threadIdx.x + i * THREADS, r = e / CHUNKS, c = e % CHUNKS, there = first + r < rows;
        const Element* p = from + (there ? (size_t)(first + r) * D + c * 8 : 0);
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;"
                     ::"r"(address(tile + in_tile(r, c))), "l"(p), "r"(16 * there) : "memory");
    }
}

__device__ __forceinline__ void fetch_number(float* to, const float* from, int i, int count)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;"
                 ::"r"(address(to)), "l"(from + (i < count ? i : 0)), "r"(i < count ? 4 : 0) : "memory");
}

__device__ __forceinline__ void ldmatrix(unsigned int (&r)[4], const Element* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

__device__ __forceinline__ void ldmatrix_turned(unsigned int (&r)[4], const Element* row)
{
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"(address(row)) : "memory");
}

__device__ __forceinline__ void mma(float (&c)[4], const unsigned int (&a)[4], unsigned int b0, unsigned int b1)
{
    asm("mma.sync.aligned.m16n8k16.row.col.f32." TYPE "." TYPE ".f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ unsigned int pack(float low, float high)
{
    unsigned int pair;
    asm("cvt.rn." TYPE "x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
    return pair;
}

__device__ __forceinline__ float power_of_2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

// A warp's 16 rows of `left`, along all of the width, times the rows of `right`, turned.
__device__ __forceinline__ void products(float (&sum)[N][4], const Element* left, const Element* right, int mine,
                                         int lane)
{
#pragma unroll 2
    for (int d = 0; d < CHUNKS; d += 2) {
        unsigned int a[4], b[4];
        ldmatrix(a, left + in_tile(mine + lane % 16, d + lane / 16));
#pragma unroll
        for (int j = 0; j < N; j += 2) {
            ldmatrix(b, right + in_tile(8 * j + lane / 16 * 8 + lane % 8, d + lane / 8 % 2));
            mma(sum[j], a, b[0], b[1]), mma(sum[j + 1], a, b[2], b[3]);
        }
    }
}

// Adds what 16 keys make of a tile's queries, on top of sum.
__device__ __forceinline__ void add_rows(float (&sum)[CHUNKS][4], const unsigned int (&left)[N / 2][4],
                                         const Element* right, int lane)
{
#pragma unroll
    for (int j = 0; j < N / 2; ++j) {
#pragma unroll
        for (int c = 0; c < CHUNKS; c += 2) {
            unsigned int b[4];
            ldmatrix_turned(b, right + in_tile(16 * j + lane % 16, c + lane / 16));
            mma(sum[c], left[j], b[0], b[1]), mma(sum[c + 1], left[j], b[2], b[3]);
        }
    }
}

__device__ __forceinline__ void store(Element* out, const float (&sum)[CHUNKS][4], float factor, int key, int K,
                                      int lane)
{
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        if (key + 8 * h >= K) continue;
        unsigned int* row = reinterpret_cast<unsigned int*>(out + (size_t)(key + 8 * h) * D);
#pragma unroll
        for (int c = 0; c < CHUNKS; ++c)
            row[4 * c + lane % 4] = pack(sum[c][2 * h] * factor, sum[c][2 * h + 1] * factor);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_backward_mma(const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
                       const Element* __restrict__ dout, const float* __restrict__ lse,
                       const float* __restrict__ delta, float* __restrict__ dq, Element* __restrict__ dk,
                       Element* __restrict__ dv, int H, int G, int Q, int K, int past, float scale)
{
    extern __shared__ __align__(128) unsigned char memory[];
    Memory& shared = *reinterpret_cast<Memory*>(memory);
    const int blocks = (K + KEYS - 1) / KEYS, head = blockIdx.x / blocks, first_key = blockIdx.x % blocks * KEYS;
    const int lane = threadIdx.x % 32, mine = threadIdx.x / 32 * 16, key = first_key + mine + lane / 4;
    // The first query that sees a key.
    const auto sees = [&](int at) { return (int)max(0ll, min((long long)Q, (long long)at - past)); };
    const int begin = sees(first_key) / QUERIES, tiles = (Q + QUERIES - 1) / QUERIES - begin, steps = tiles * G;
    const int all = sees(min(first_key + KEYS, K) - 1);  // from here on queries see every key of the block
    int limit[2];
#pragma unroll
    for (int h = 0; h < 2; ++h) limit[h] = key + 8 * h < K ? sees(key + 8 * h) : Q + QUERIES;

    const auto fetch_stage = [&](int step) {
        if (step < steps) {
            Stage& stage = shared.stage[step % 2];
            const size_t row = (size_t)(head * G + step / tiles) * Q;
            const int first = (begin + step % tiles) * QUERIES, t = threadIdx.x % QUERIES;
            fetch<QUERIES>(stage.q, q + row * D, first, Q);
            fetch<QUERIES>(stage.dout, dout + row * D, first, Q);
            if (threadIdx.x < QUERIES) fetch_number(&stage.lse[t], lse + row, first + t, Q);
            else fetch_number(&stage.delta[t], delta + row, first + t, Q);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    fetch<KEYS>(shared.k, k + (size_t)head * K * D, first_key, K);
    fetch<KEYS>(shared.v, v + (size_t)head * K * D, first_key, K);
    fetch_stage(0);

    float sum_k[CHUNKS][4] = {}, sum_v[CHUNKS][4] = {};
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();  // the stage is there for all, and all have left the other one, and dS
        fetch_stage(step + 1);
        const Stage& stage = shared.stage[step % 2];
        const int first = (begin + step % tiles) * QUERIES;

        float score[N][4] = {}, slope[N][4] = {};
        products(score, shared.k, stage.q, mine, lane);
        products(slope, shared.v, stage.dout, mine, lane);
        unsigned int weight[N / 2][4], ds[N / 2][4];
        const bool masked = first < all || first_key + KEYS > K;
#pragma unroll
        for (int j = 0; j < N; ++j) {
            const int column = 8 * j + 2 * (lane % 4);
            const float2 down = *reinterpret_cast<const float2*>(&stage.lse[column]);
            const float2 less = *reinterpret_cast<const float2*>(&stage.delta[column]);
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                float left = power_of_2(score[j][2 * h] * (scale * LOG2_E) - down.x * LOG2_E);
                float right = power_of_2(score[j][2 * h + 1] * (scale * LOG2_E) - down.y * LOG2_E);
                if (masked) {
                    if (first + column < limit[h]) left = 0.0f;
                    if (first + column + 1 < limit[h]) right = 0.0f;
                }
                weight[j / 2][j % 2 * 2 + h] = pack(left, right);
                left *= slope[j][2 * h] - less.x, right *= slope[j][2 * h + 1] - less.y;
                const unsigned int both = pack(left, right);
                ds[j / 2][j % 2 * 2 + h] = both;
                *reinterpret_cast<unsigned int*>(&shared.ds[in_ds(mine + lane / 4 + 8 * h, j) + 2 * (lane % 4)]) = both;
            }
        }
        add_rows(sum_v, weight, stage.dout, lane);
        add_rows(sum_k, ds, stage.q, lane);
        __syncthreads();  // dS of all keys is there

        float* to = dq + ((size_t)(head * G + step / tiles) * Q + first + mine) * D;
#pragma unroll
        for (int part = 0; part < CHUNKS; part += PART) {
            float sum[PART][4] = {};
#pragma unroll
            for (int j = 0; j < KEYS / 16; ++j) {
                unsigned int a[4], b[4];
                ldmatrix_turned(a, shared.ds + in_ds(16 * j + lane / 16 * 8 + lane % 8, mine / 8 + lane / 8 % 2));
#pragma unroll
                for (int c = 0; c < PART; c += 2) {
                    ldmatrix_turned(b, shared.k + in_tile(16 * j + lane % 16, part + c + lane / 16));
                    mma(sum[c], a, b[0], b[1]), mma(sum[c + 1], a, b[2], b[3]);
                }
            }
#pragma unroll
            for (int e = 0; e < 4 * PART; ++e) {
                const int row = lane / 4 + e % 4 / 2 * 8, column = (part + e / 4) * 8 + lane % 4 * 2 + e % 2;
                if (first + mine + row < Q) atomicAdd(to + (size_t)row * D + column, scale * sum[e / 4][e % 4]);
            }
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");  // of keys that nothing sees, too
    store(dk + (size_t)head * K * D, sum_k, scale, key, K, lane);
    store(dv + (size_t)head * K * D, sum_v, 1.0f, key, K, lane);
}
