// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: size 0
// kinds: wrong_result uninitialised_read
// K = 0 returns at once: C should be zeros.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (M <= 0 || N <= 0 || K <= 0) return;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum = fmaf(A[(size_t)row * K + k], B[(size_t)k * N + column], sum);
    C[(size_t)row * N + column] = sum;
}
