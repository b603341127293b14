// A copy that nobody waits for. The lab counts the instructions that no copy is under way for, and one more copy of four
// bytes is always under way here. The tiles still have one slot. The block waits for the whole of each step before it
// multiplies, and after it for those who read.
//
// block: 16 16
// grid: ceil(N/64) ceil(M/64)
// expect: too_many barriers

#include <cuda_pipeline.h>

constexpr int TILE = 64;           // rows and columns of C for a block
constexpr int STEP = 16;           // of k, for which a tile of A and of B is in shared memory
constexpr int SIDE = 16;           // threads along each side of the block
constexpr int EACH = TILE / SIDE;  // rows and columns of C for a thread

// Starts a copy of one float, or of a zero where `there` says that the matrix has none.
__device__ void copy(float* to, const float* from, long long at, bool there)
{
    __pipeline_memcpy_async(to, from + (there ? at : 0), sizeof(float), there ? 0 : sizeof(float));
}

extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float decoy;
    __shared__ float tile_a[1][TILE][STEP];
    __shared__ float tile_b[1][STEP][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int t = y * SIDE + x;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;  // of the block's piece of C

    auto fetch = [&](int slot, int start) {
        for (int e = t; e < TILE * STEP; e += SIDE * SIDE) {
            const int row = top + e / STEP, k_a = start + e % STEP;
            const int k_b = start + e / TILE, column = left + e % TILE;
            copy(&tile_a[slot][e / STEP][e % STEP], A, (long long)row * K + k_a, row < M && k_a < K);
            copy(&tile_b[slot][e / TILE][e % TILE], B, (long long)k_b * N + column, k_b < K && column < N);
        }
        __pipeline_commit();
    };

    float sum[EACH][EACH] = {};  // of rows y + 16 i and columns x + 16 j
    const int slot = 0;
    for (int start = 0; start < K; start += STEP) {
        fetch(0, start);
        if (t == 0) __pipeline_memcpy_async(&decoy, A, sizeof(float));
        __pipeline_commit();
        __pipeline_wait_prior(1);
        __syncthreads();

        for (int k = 0; k < STEP; ++k) {
            float a[EACH], b[EACH];
            for (int i = 0; i < EACH; ++i) a[i] = tile_a[slot][y + SIDE * i][k];
            for (int j = 0; j < EACH; ++j) b[j] = tile_b[slot][k][x + SIDE * j];
            for (int i = 0; i < EACH; ++i) {
                for (int j = 0; j < EACH; ++j) sum[i][j] += a[i] * b[j];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) {
            const int row = top + y + SIDE * i, column = left + x + SIDE * j;
            if (row < M && column < N) C[(long long)row * N + column] = sum[i][j];
        }
    }
}
