// C = A B in halves with sums in single precision: mma.sync, with every lane filling its own part of the fragments.
//
// block: 128
// grid: ceil(N/32) ceil(M/32)

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

        // 1. Fill a[4]: register i holds row `group` or 8 below it, steps of k `2 * place` and the next, or 8 further on.
        // 2. For both pieces of 8 columns fill b[2]: column `group`, steps of k as in A; and call mma.
        __syncthreads();
    }

    // 3. Store the sums: register i of a piece is row `group` or 8 below it, column `2 * place` or the next.
}
