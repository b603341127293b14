// Uninitialised tile: elements past the end of K are left as they were instead of being set to 0.
//
// entry: matmul_uninitialised_tile
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: wrong_result

extern "C" __global__ void matmul_uninitialised_tile(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float tile_a[16][16];
    __shared__ float tile_b[16][16];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0.0f;
    for (int start = 0; start < K; start += 16) {
        if (row < M && start + x < K) tile_a[y][x] = A[row * K + start + x];
        if (start + y < K && column < N) tile_b[y][x] = B[(start + y) * N + column];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
