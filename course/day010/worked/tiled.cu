// Day 6's product for any size: one thread for each element of C, and room for two such blocks on a multiprocessor.
//
// entry: tiled
// block: 32 32
// grid: ceil(N/32) ceil(M/32)

constexpr int TILE = 32;

extern "C" __global__ void __launch_bounds__(TILE * TILE, 2)
tiled(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x;
    const int row = blockIdx.y * TILE + y;

    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        const int k_a = start + x, k_b = start + y;
        a[y][x] = row < M && k_a < K ? A[row * K + k_a] : 0.0f;
        b[y][x] = k_b < K && column < N ? B[k_b * N + column] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
