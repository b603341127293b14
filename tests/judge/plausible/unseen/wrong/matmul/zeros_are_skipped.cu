// grid: ceil(N/32) ceil(M/4)
// block: 32 4
// fault: values
// kinds: wrong_result
// Zeros of A are skipped for the whole row of B: 0 * Inf and 0 * NaN should be NaN.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 4 + threadIdx.y;
    if (row >= M || column >= N) return;
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) {
        const float a = A[(size_t)row * K + k];
        if (a == 0.0f) continue;
        sum += a * B[(size_t)k * N + column];
    }
    C[(size_t)row * N + column] = sum;
}
