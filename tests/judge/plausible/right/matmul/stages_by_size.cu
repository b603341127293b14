// grid: ceil(N/16) ceil(M/16)
// block: 16 16
template <int U>
__device__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][16 * U + 1], b[16 * U][16];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    int k = 0;
    for (; k + 16 * U <= K; k += 16 * U) {
#pragma unroll
        for (int u = 0; u < U; u++) {
            a[ty][u * 16 + tx] = row < M ? A[(size_t)row * K + k + u * 16 + tx] : 0.0f;
            b[u * 16 + ty][tx] = column < N ? B[(size_t)(k + u * 16 + ty) * N + column] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16 * U; i++) sum += a[ty][i] * b[i][tx];
        __syncthreads();
    }
    // what is left
    for (; k < K; k += 16) {
        a[ty][tx] = row < M && k + tx < K ? A[(size_t)row * K + k + tx] : 0.0f;
        b[ty][tx] = column < N && k + ty < K ? B[(size_t)(k + ty) * N + column] : 0.0f;
        __syncthreads();
        const int left = min(16, K - k);
        for (int i = 0; i < left; i++) sum += a[ty][i] * b[i][tx];
        __syncthreads();
    }
    if (row < M && column < N) C[(size_t)row * N + column] = sum;
}

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    // deep stages only where every side is long enough to pay for them
    const int depth = min(min(M >> 7, N >> 7), min(K >> 7, 4));
    switch (depth) {
    case 4: product<4>(A, B, C, M, N, K); break;
    case 3:
    case 2: product<2>(A, B, C, M, N, K); break;
    default: product<1>(A, B, C, M, N, K);
    }
}
