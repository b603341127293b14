// Missing barrier: after the last read of a tile nothing keeps fast warps from loading the next tile over it.
//
// entry: matmul_missing_barrier
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: race

extern "C" __global__ void matmul_missing_barrier(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0.0f;
    for (int start = 0; start < K; start += 16) {
        tile_a[y][x] = (row < M && start + x < K) ? A[row * K + start + x] : 0.0f;  // <- here
        tile_b[y][x] = (start + y < K && column < N) ? B[(start + y) * N + column] : 0.0f;  // <- here
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += tile_a[y][k] * tile_b[k][x];  // <- here
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
