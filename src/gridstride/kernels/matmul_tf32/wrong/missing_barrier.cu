// Missing barrier: fast warps load the next tiles while slow ones still multiply the last.
//
// entry: matmul_tf32_missing_barrier
// block: 16 16
// grid: ceil(N/16) ceil(M/16)
// expect: race

extern "C" __global__ void matmul_tf32_missing_barrier(const float* A, const float* B, float* C,
                                                       int M, int N, int K)
{
    __shared__ float a[16][16], b[16][17];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0.0f;
    for (int start = 0; start < K; start += 16) {
        const int k = start + x, line = blockIdx.x * 16 + y;
        a[y][x] = row < M && k < K ? A[(size_t)row * K + k] : 0.0f;    // <- here
        b[y][x] = line < N && k < K ? B[(size_t)line * K + k] : 0.0f;  // <- here
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += a[y][i] * b[x][i];  // <- here
    }
    if (row < M && column < N) C[(size_t)row * N + column] = sum;
}
