// Barrier in the guard. Those that load must wait for each other, so the barrier was put where the loading is. It is the whole
// block that has to come to it: in the last step some threads have nothing to load, and go past.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)
// expect: barrier_divergence

constexpr int TILE = 32;  // rows and columns of a tile, and of the block

extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x;
    const int row = blockIdx.y * TILE + y;

    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        a[y][x] = b[y][x] = 0.0f;
        if (start + x < K && start + y < K) {
            if (row < M) a[y][x] = A[(long long)row * K + start + x];
            if (column < N) b[y][x] = B[(long long)(start + y) * N + column];
            __syncthreads();  // <- here
        }

        for (int k = 0; k < TILE; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();  // <- here
    }
    if (row < M && column < N) C[(long long)row * N + column] = sum;
}
