// One each. The tiles are in shared memory and every float of them is used 32 times, which is what tiles are for. But each
// multiply-add still fetches both of its factors from there, and shared memory cannot keep up.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)
// expect: too_many loads

constexpr int TILE = 32;

extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        tile_a[y][x] = row < M && start + x < K ? A[(size_t)row * K + start + x] : 0.0f;
        tile_b[y][x] = start + y < K && column < N ? B[(size_t)(start + y) * N + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();
    }
    if (row < M && column < N) C[(size_t)row * N + column] = sum;
}
