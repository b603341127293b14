// 04 mma: both products on the tensor cores, and the weights go from one to the other without leaving their registers.
//
// Moves: instructions, and shared wavefronts. 16 queries by 8 keys by 16 elements are one mma.sync; the scores of one
//   product lie in the registers in the order in which the other wants its left side, as halves. The next tile is on
//   its way by cp.async meanwhile. A multiply-add and an ex2 for a weight: the scale and log2(e) go into one factor.
// Mapping: 4 warps of 32 queries. Of each 16x8 piece lane l has rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the
//   next: a row's four lanes settle its maximum by two shuffles. 16 bytes of a row are a chunk; chunk c of row r lies
//   at place c ^ (r % 8), so that the 8 rows of an 8x8 matrix lie in different banks.
//
// entry: attention_mma
// block: 128
// grid: ceil(Q/128)*G*H
// shared: 2*128*(128+4*64)
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
constexpr int ROWS = 32;            // queries of a warp
constexpr int QUERIES = WARPS * ROWS;
constexpr int KEYS = 64;            // of a tile
constexpr int CHUNKS = D / 8;       // of 16 bytes, of a row
constexpr int M = ROWS / 16, N = KEYS / 8, W = D / 8;  // pieces: of the queries, of the keys, of the width

struct Stage {
    Element k[KEYS * D], v[KEYS * D];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// Where chunk c of row r lies in a tile, in elements.
__device__ __forceinline__ int in_tile(int r, int c) { return r * D + (c ^ r % 8) * 8; }

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

__device__ __forceinline__ float largest_of_row(float x)
{
    x = fmaxf(x, __shfl_xor_sync(0xffffffff, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffff, x, 2));
}

extern "C" __global__ void __launch_bounds__(THREADS, 2)
attention_mma(const Element* __restrict__ q, const Element* __restrict__ k, const Element* __restrict__ v,
              Element* __restrict__ out, int H, int G, int Q, int K, int past, float scale)
{
    extern __shared__ __align__(128) unsigned char memory[];
    Element* queries = reinterpret_cast<Element*>(memory);
    Stage* stages = reinterpret_cast<Stage*>(queries + QUERIES * D);
    const int tiles = (Q + QUERIES - 1) / QUERIES, head = blockIdx.x / tiles, lane = threadIdx.x % 32;
    const int first_query = (tiles - 1 - blockIdx.x % tiles) * QUERIES;  // under a mask the longest go first
    const int mine = threadIdx.x / 32 * ROWS;
    k += (size_t)(head / G) * K * D, v += (size_t)(head / G) * K * D;
    // Keys that the first `count` queries see of those that there are.
    const auto seen = [&](int count) { return (int)max(0ll, min((long long)K, (long long)count + past)); };
    const int most = seen(first_query + QUERIES), steps = (most + KEYS - 1) / KEYS;

    const auto fetch_stage = [&](int step) {
        if (step < steps) {
            fetch<KEYS>(stages[step % 2].k, k, step * KEYS, K);
            fetch<KEYS>(stages[step % 2].v, v, step * KEYS, K);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    fetch<QUERIES>(queries, q + (size_t)head * Q * D, first_query, Q);
    fetch_stage(0);
    if (scale < 0.0f) {  // largest products are looked for: -q k then, for a scale above zero
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        for (int i = 0; i < QUERIES * CHUNKS / THREADS; ++i) {  // by who has asked for them
            const int e = threadIdx.x + i * THREADS;
            uint4& chunk = *reinterpret_cast<uint4*>(queries + in_tile(e / CHUNKS, e % CHUNKS));
            chunk.x ^= 0x80008000, chunk.y ^= 0x80008000, chunk.z ^= 0x80008000, chunk.w ^= 0x80008000;
        }
    }
    const float factor = fabsf(scale) * 1.44269504f;  // times log2(e)

    float sum[M][W][4] = {}, largest[M][2], total[M][2] = {};  // the total of this lane's columns only
    int limit[M][2];                                // keys that a row sees
    const int all = seen(first_query + mine + 1);   // keys that every row of the warp sees
#pragma unroll
    for (int i = 0; i < 2 * M; ++i) {
        largest[i / 2][i % 2] = -INFINITY;
        limit[i / 2][i % 2] = seen(first_query + mine + 8 * i + lane / 4 + 1);
    }
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        __syncthreads();  // the stage is there for all, and all have left the other one
        fetch_stage(step + 1);
        const Stage& stage = stages[step % 2];

        float score[M][N][4] = {};
#pragma unroll 2
        for (int d = 0; d < CHUNKS; d += 2) {
            unsigned int a[M][4];
#pragma unroll
            for (int i = 0; i < M; ++i) ldmatrix(a[i], queries + in_tile(mine + 16 * i + lane % 16, d + lane / 16));
#pragma unroll
            for (int j = 0; j < N; j += 2) {
                unsigned int b[4];
                ldmatrix(b, stage.k + in_tile(8 * j + lane / 16 * 8 + lane % 8, d + lane / 8 % 2));
#pragma unroll
                for (int i = 0; i < M; ++i) mma(score[i][j], a[i], b[0], b[1]), mma(score[i][j + 1], a[i], b[2], b[3]);
            }
        }

        const int column = step * KEYS + 2 * (lane % 4);
        if ((step + 1) * KEYS > all) {
#pragma unroll
            for (int i = 0; i < M; ++i)
#pragma unroll
                for (int j = 0; j < N; ++j)
#pragma unroll
                    for (int e = 0; e < 4; ++e)
                        if (column + 8 * j + e % 2 >= limit[i][e / 2]) score[i][j][e] = -INFINITY;
        }

        unsigned int weight[M][KEYS / 16][4];
#pragma unroll
        for (int i = 0; i < M; ++i) {
#pragma unroll
            for (int h = 0; h < 2; ++h) {
                float now = largest[i][h];
#pragma unroll
                for (int j = 0; j < N; ++j) now = fmaxf(now, fmaxf(score[i][j][2 * h], score[i][j][2 * h + 1]));
                now = largest_of_row(now);
                const float down = now == -INFINITY ? 0.0f : now * factor;
                const float keep = power_of_2(largest[i][h] * factor - down);
                largest[i][h] = now;
                total[i][h] *= keep;
#pragma unroll
                for (int j = 0; j < N; ++j) {
                    const float left = power_of_2(score[i][j][2 * h] * factor - down);
                    const float right = power_of_2(score[i][j][2 * h + 1] * factor - down);
                    total[i][h] += left + right;
                    weight[i][j / 2][j % 2 * 2 + h] = pack(left, right);
                }
#pragma unroll
                for (int w = 0; w < W; ++w) sum[i][w][2 * h] *= keep, sum[i][w][2 * h + 1] *= keep;
            }
        }
#pragma unroll
        for (int j = 0; j < KEYS / 16; ++j) {
#pragma unroll
            for (int w = 0; w < W; w += 2) {
                unsigned int b[4];
                ldmatrix_turned(b, stage.v + in_tile(16 * j + lane % 16, w + lane / 16));
#pragma unroll
                for (int i = 0; i < M; ++i)
                    mma(sum[i][w], weight[i][j], b[0], b[1]), mma(sum[i][w + 1], weight[i][j], b[2], b[3]);
            }
        }
    }
    asm volatile("cp.async.wait_group 0;" ::: "memory");  // of queries that see nothing, too

#pragma unroll
    for (int i = 0; i < M; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float whole = total[i][h];
            whole += __shfl_xor_sync(0xffffffff, whole, 1);
            whole += __shfl_xor_sync(0xffffffff, whole, 2);
            const float inverse = whole == 0.0f ? 0.0f : 1.0f / whole;
            const int query = first_query + mine + 16 * i + 8 * h + lane / 4;
            if (query >= Q) continue;
            unsigned int* row = reinterpret_cast<unsigned int*>(out + ((size_t)head * Q + query) * D);
#pragma unroll
            for (int w = 0; w < W; ++w)
                row[4 * w + lane % 4] = pack(sum[i][w][2 * h] * inverse, sum[i][w][2 * h + 1] * inverse);
        }
    }
}
