// fault: for one column, zeros of B are skipped: 0 * Inf and 0 * NaN are NaN (N = 1, nonfinite A)
// kinds: wrong_result
// grid: ceil(N/32) ceil(M/8)
// block: 32 8
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
    if (row >= M) return;
    float s = 0;
    if (N == 1) {
        for (int k = threadIdx.x; k < K; k += 32) { float b = B[k]; if (b != 0) s += A[(size_t)row * K + k] * b; }
        for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
        if (threadIdx.x == 0) C[row] = s;
        return;
    }
    if (col >= N) return;
    for (int k = 0; k < K; k++) s += A[(size_t)row * K + k] * B[(size_t)k * N + col];
    C[(size_t)row * N + col] = s;
}
