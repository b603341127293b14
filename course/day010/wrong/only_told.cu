// Only told. The compiler is asked for so few registers that two blocks fit, and does as it is told. Two blocks of
// 1,024 threads are 2,048, and this multiprocessor has places for 1,536. It was not the registers that kept the second
// one out.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)
// expect: too_many empty_places

constexpr int TILE = 32;

extern "C" __global__ void __launch_bounds__(1024, 2)
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
