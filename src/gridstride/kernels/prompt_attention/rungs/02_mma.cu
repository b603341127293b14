// 02 mma: both products on the tensor cores, a tile of keys at a time, which cp.async brings through the block table.
//
// Moves: instructions, and shared wavefronts. 16 rows by 8 keys by 16 elements are one mma.sync; the scores of one
//   product lie in the registers in the order in which the other wants its left side, as halves. A row of keys is asked
//   for where the table says, so nothing is gathered first; the next tile is on its way meanwhile.
// Mapping: a block has a head of a piece, and 4 warps 32 rows each: row r is query r / GROUP, head r % GROUP of the
//   group. Of each 16x8 part lane l has rows l / 4 and l / 4 + 8, columns 2 (l % 4) and the next: a row's four lanes
//   settle its maximum by two shuffles. 16 bytes of a row are a chunk; chunk c of row r lies at place c ^ (r % 8), so
//   that the 8 rows of an 8x8 matrix lie in different banks.
//
// entry: prompt_attention_mma
// block: 128
// grid: P*K
// shared: 2*128*(128+4*32)
// needs: 8.0

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#ifndef HEAD_WIDTH
#define HEAD_WIDTH 128
#endif
#ifndef GROUP
#define GROUP 2  // query heads of a head of keys
#endif
#ifndef BLOCK_SIZE
#define BLOCK_SIZE 16
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
constexpr int MINE = 32;            // rows of a warp
constexpr int ROWS = WARPS * MINE;  // of queries: GROUP of each
constexpr int KEYS = 32;            // of a tile: with 64 registers spill
constexpr int CHUNKS = D / 8;       // of 16 bytes, of a row
constexpr int M = MINE / 16, N = KEYS / 8, W = D / 8;  // pieces: of the queries, of the keys, of the width

struct Stage {
    Element k[KEYS * D], v[KEYS * D];
};

__device__ __forceinline__ unsigned int address(const void* shared)
{
    return static_cast<unsigned int>(__cvta_generic_to_shared(shared));
}

// Where chunk c of row r lies in a tile, in elements.
__device__ __forceinline__ int in_tile(int r, int c) { return r * D + (c ^ r % 8) * 8; }

// Where it is written, so that the compiler rather reads again than keeps it in a register beside the sums.
__device__ __forceinline__ int read(const int* from)
{
    int x;
    asm volatile("ld.global.nc.s32 %0, [%1];" : "=r"(x) : "l"(from));
    return x;
}

__device__ __forceinline__ void copy16(Element* to, const Element* from, int bytes)
{
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address(to)), "l"(from), "r"(bytes) : "memory");
}

// Ask for keys or values from `first` on of one head; beyond the last one that is seen zeros.
__device__ __forceinline__ void fetch(Element* tile, const Element* cache, const int* table, int K, int head, int first,
                                      int seen)
{
#pragma unroll 2
    for (int e = threadIdx.x; e < KEYS * CHUNKS; e += THREADS) {
        const int r = e / CHUNKS, c = e % CHUNKS, token = first + r, there = token < seen;
        const Element* p = cache;
        if (there)
            p += (((size_t)table[token / BLOCK_SIZE] * K + head) * BLOCK_SIZE + token % BLOCK_SIZE) * D + c * 8;
        copy16(tile + in_tile(r, c), p, 16 * there);
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
prompt_attention_mma(const Element* __restrict__ q, const Element* __restrict__ keys,
                     const Element* __restrict__ values, const int* __restrict__ tables,
                     const int* __restrict__ pieces, Element* __restrict__ out, int K, int P, int table_width,
                     float scale)
{
    const int number = blockIdx.x / K, head = blockIdx.x % K, lane = threadIdx.x % 32;
    const int* piece = pieces + 4 * number;
    const int count = read(piece + 1), last = read(piece + 3);
    if (count <= 0) return;
    const int* table = tables + (size_t)piece[2] * table_width;
    const int token = K * GROUP * D;  // elements from one to the next in q and in out
    q += (size_t)read(piece) * token + head * GROUP * D;

    extern __shared__ __align__(128) unsigned char memory[];
    Element* queries = reinterpret_cast<Element*>(memory);
    Stage* stages = reinterpret_cast<Stage*>(queries + ROWS * D);
    const int mine = threadIdx.x / 32 * MINE;
    const int steps = last > 0 ? (last + KEYS - 1) / KEYS : 0;

    const auto fetch_stage = [&](int step) {
        if (step < steps) {
            fetch(stages[step % 2].k, keys, table, K, head, step * KEYS, last);
            fetch(stages[step % 2].v, values, table, K, head, step * KEYS, last);
        }
        asm volatile("cp.async.commit_group;" ::: "memory");
    };
    for (int e = threadIdx.x; e < ROWS * CHUNKS; e += THREADS) {
        const int r = e / CHUNKS, c = e % CHUNKS, there = r < count * GROUP;
        copy16(queries + in_tile(r, c), q + (there ? r / GROUP * token + r % GROUP * D + c * 8 : 0), 16 * there);
    }
    fetch_stage(0);
    if (scale < 0.0f) {  // largest products are looked for: -q k then, for a scale above zero
        asm volatile("cp.async.wait_group 0;" ::: "memory");
        for (int i = 0; i < ROWS * CHUNKS / THREADS; ++i) {  // by who has asked for them
            const int e = threadIdx.x + i * THREADS;
            uint4& chunk = *reinterpret_cast<uint4*>(queries + in_tile(e / CHUNKS, e % CHUNKS));
            chunk.x ^= 0x80008000, chunk.y ^= 0x80008000, chunk.z ^= 0x80008000, chunk.w ^= 0x80008000;
        }
    }
    const float factor = fabsf(scale) * 1.44269504f;  // times log2(e)

    float sum[M][W][4] = {}, largest[M][2], total[M][2] = {};  // the total of this lane's columns only
    // Keys that a row of the tile sees.
    const auto seen = [&](int row) { return min(last, last - count + 1 + row / GROUP); };
    const int all = seen(mine);  // by every row of the warp
    int limit[M][2];
#pragma unroll
    for (int i = 0; i < 2 * M; ++i) {
        largest[i / 2][i % 2] = -INFINITY;
        limit[i / 2][i % 2] = seen(mine + 8 * i + lane / 4);
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

    out += (size_t)read(piece) * token + head * GROUP * D;
    const int rows = read(piece + 1) * GROUP;
#pragma unroll
    for (int i = 0; i < M; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float whole = total[i][h];
            whole += __shfl_xor_sync(0xffffffff, whole, 1);
            whole += __shfl_xor_sync(0xffffffff, whole, 2);
            const float inverse = whole == 0.0f ? 0.0f : 1.0f / whole;
            const int r = mine + 16 * i + 8 * h + lane / 4;
            if (r >= rows) continue;
            unsigned int* row = reinterpret_cast<unsigned int*>(out + r / GROUP * token + r % GROUP * D);
#pragma unroll
            for (int w = 0; w < W; ++w)
                row[4 * w + lane % 4] = pack(sum[i][w][2 * h] * inverse, sum[i][w][2 * h + 1] * inverse);
        }
    }
}
