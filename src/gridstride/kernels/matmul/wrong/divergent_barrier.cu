// Divergent barrier: only the threads inside C load the tile and wait; those outside skip the loop and its barriers.
//
// entry: matmul_divergent_barrier
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: barrier_divergence

extern "C" __global__ void matmul_divergent_barrier(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float tile_b[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    tile_b[y][x] = 0.0f;
    if (row < M && column < N) {
        float sum = 0.0f;
        for (int start = 0; start < K; start += 16) {
            tile_b[y][x] = start + y < K ? B[(start + y) * N + column] : 0.0f;
            __syncthreads();  // <- here
            for (int k = 0; k < 16 && start + k < K; ++k) sum += A[row * K + start + k] * tile_b[k][x];
            __syncthreads();  // <- here
        }
        C[row * N + column] = sum;
    }
}
