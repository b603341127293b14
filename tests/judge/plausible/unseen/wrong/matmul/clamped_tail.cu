// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: clamped tail times zero
// kinds: wrong_result
// Past K the tile of A repeats the last column and that of B is zero: Inf times 0 makes NaN of an infinite sum.
__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][17], b[16][17];
    int tx = threadIdx.x, ty = threadIdx.y, j = blockIdx.x * 16 + tx, i = blockIdx.y * 16 + ty;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        a[ty][tx] = A[(size_t)min(i, M - 1) * K + min(k0 + tx, K - 1)];
        b[ty][tx] = k0 + ty < K && j < N ? B[(size_t)(k0 + ty) * N + j] : 0;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[ty][k] * b[k][tx];
        __syncthreads();
    }
    if (i < M && j < N) C[(size_t)i * N + j] = sum;
}
