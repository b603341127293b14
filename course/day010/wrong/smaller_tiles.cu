// Smaller tiles. Blocks of 256 threads fill every place, and the shortest way to them is a smaller TILE. Then each
// float that was fetched is used 16 times instead of 32: the places are full, and the traffic is twice what it was.
//
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: too_many load_sectors

constexpr int TILE = 16;

extern "C" __global__ void __launch_bounds__(256, 6)
product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        a[y][x] = row < M && start + x < K ? A[(long long)row * K + start + x] : 0.0f;
        b[y][x] = start + y < K && column < N ? B[(long long)(start + y) * N + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < TILE; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (row < M && column < N) C[(long long)row * N + column] = sum;
}
