// One thread for each element of C, tiles of 32 by 32 in shared memory.
//
// entry: shared_tile
// block: 32 32
// grid: ceil(N/32) ceil(M/32)

constexpr int TILE = 32;

extern "C" __global__ void shared_tile(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        const int from_a = row * K + start + x;
        const int from_b = (start + y) * N + column;
        tile_a[y][x] = row < M && start + x < K ? A[from_a] : 0.0f;
        tile_b[y][x] = start + y < K && column < N ? B[from_b] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE; ++k) sum += tile_a[y][k] * tile_b[k][x];
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
