// grid: ceil(N/32) ceil(M/32)
// block: 32 32
// fault: empty sizes
// kinds: wrong_result
// Returns at once for an empty K and leaves C as it was: a sum of nothing is 0.
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    if (M == 0 || N == 0 || K == 0) return;
    int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && col < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k++) sum += A[row * K + k] * B[k * N + col];
        C[row * N + col] = sum;
    }
}
