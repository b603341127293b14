// C = A B: day 21's product with two tiles of A and two of B. The next ones are on their way while these are
// multiplied.
//
// block: 16 16
// grid: ceil(N/64) ceil(M/64)

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
    __shared__ float tile_a[2][TILE][STEP];
    __shared__ float tile_b[2][STEP][TILE];

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
    int slot = 0;
    // 1. What has to be on its way before the loop begins?
    for (int start = 0; start < K; start += STEP) {
        // 2. In which order do these belong here: a barrier, waiting for my own copies, starting the next step's?
        __syncthreads();

        // 3. Day 21's loop over k, on the tiles of this slot (gridstride solution 21 prints it).

        slot = 1 - slot;
    }
    // 4. Sixteen results to C, as far as they lie within it.
}
