// Divergent barrier: the threads inside C come to the barriers of the loop; those outside wait at the one after it.
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
    const bool inside = row < M && column < N;
    float sum = 0.0f;
    tile_b[y][x] = 0.0f;
    if (inside) {
        for (int start = 0; start < K; start += 16) {
            tile_b[y][x] = start + y < K ? B[(start + y) * N + column] : 0.0f;
            __syncthreads();  // <- here
            for (int k = 0; k < 16 && start + k < K; ++k) sum += A[row * K + start + k] * tile_b[k][x];
            __syncthreads();  // <- here
        }
    }
    __syncthreads();  // <- here
    if (inside) C[row * N + column] = sum + 0.0f * tile_b[y][x];
}
