// One block. Day 6's kernel: 1,024 threads are the most that a block can have, and more threads are more warps. But a
// second block of that size does not fit into a multiprocessor for 1,536 threads, and a third of the places stay empty.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)
// expect: too_many empty_places

constexpr int TILE = 32;

extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
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
