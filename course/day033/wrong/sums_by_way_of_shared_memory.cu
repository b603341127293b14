// Sums by way of shared memory. With WMMA there was no other way to guard the edges, and a tile for C looks like a
// part of every product. Here each lane knows which elements it has, and the tile is a store, a barrier and a load
// for nothing.
//
// block: 128
// grid: ceil(N/32) ceil(M/32)
// expect: too_many barriers

#include <cuda_fp16.h>

constexpr int TILE = 32;  // rows and columns of C for a block: four warps, 16 by 16 each
constexpr int STEP = 16;  // of k, for which a tile of A and of B is in shared memory
constexpr int THREADS = 128;

// c += a b for 16 rows, 8 columns and 16 steps of k. A register holds two halves, the one with the lower index below.
__device__ void mma(float (&c)[4], const __half2 (&a)[4], const __half2 (&b)[2])
{
    const unsigned *ra = reinterpret_cast<const unsigned*>(a), *rb = reinterpret_cast<const unsigned*>(b);
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
}

extern "C" __global__ void product(const __half* A, const __half* B, __half* C, int M, int N, int K)
{
    __shared__ __half tile_a[TILE][STEP], tile_b[STEP][TILE];
    __shared__ float tile_c[TILE][TILE];

    const int t = threadIdx.x, warp = t / 32, group = t % 32 / 4, place = t % 4;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;  // of the block's piece of C
    const int y = warp / 2 * 16, x = warp % 2 * 16;               // of the warp's piece in that

    float sum[2][4] = {};  // two pieces of 16 by 8, side by side
    for (int start = 0; start < K; start += STEP) {
        for (int e = t; e < TILE * STEP; e += THREADS) {
            const int row = top + e / STEP, k_a = start + e % STEP;
            const int k_b = start + e / TILE, column = left + e % TILE;
            tile_a[e / STEP][e % STEP] = row < M && k_a < K ? A[(size_t)row * K + k_a] : __half(0.0f);
            tile_b[e / TILE][e % TILE] = k_b < K && column < N ? B[(size_t)k_b * N + column] : __half(0.0f);
        }
        __syncthreads();

        __half2 a[4];
        for (int i = 0; i < 4; ++i) {
            const int row = y + group + i % 2 * 8, k = 2 * place + i / 2 * 8;
            a[i] = __halves2half2(tile_a[row][k], tile_a[row][k + 1]);
        }
        for (int j = 0; j < 2; ++j) {
            __half2 b[2];
            for (int i = 0; i < 2; ++i) {
                const int k = 2 * place + i * 8, column = x + j * 8 + group;
                b[i] = __halves2half2(tile_b[k][column], tile_b[k + 1][column]);
            }
            mma(sum[j], a, b);
        }
        __syncthreads();
    }

    for (int j = 0; j < 2; ++j) {
        for (int i = 0; i < 4; ++i) {
            tile_c[y + group + i / 2 * 8][x + j * 8 + 2 * place + i % 2] = sum[j][i];
        }
    }
    __syncthreads();
    for (int e = t; e < TILE * TILE; e += THREADS) {
        const int row = top + e / TILE, column = left + e % TILE;
        if (row < M && column < N) C[(size_t)row * N + column] = __float2half(tile_c[e / TILE][e % TILE]);
    }
}
