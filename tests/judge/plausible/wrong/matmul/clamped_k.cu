// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: NaN and infinity
// kinds: wrong_result
// Behind K, A is filled with 0 and B with its last row again: 0 times an infinity there is NaN.
__global__ void gemm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][16], b[16][17];
    int x = threadIdx.x, y = threadIdx.y, r = blockIdx.y * 16 + y, c = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k0 = 0; k0 < K; k0 += 16) {
        a[y][x] = k0 + x < K ? A[(size_t)min(r, M - 1) * K + k0 + x] : 0.0f;
        b[y][x] = B[(size_t)min(k0 + y, K - 1) * N + min(c, N - 1)];
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();
    }
    if (r < M && c < N) C[(size_t)r * N + c] = sum;
}
