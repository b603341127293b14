// grid: ceil(N/4) M
// block: 32 4
//
// A warp for each element: lanes stride over K, a butterfly adds up.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    const long long row = blockIdx.y, column = blockIdx.x * 4 + threadIdx.y;
    if (column >= N) return;
    float sum = 0.0f;
    for (int k = threadIdx.x; k < K; k += 32) sum += A[row * K + k] * B[k * (long long)N + column];
    for (int o = 1; o < 32; o <<= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x == 0) C[row * N + column] = sum;
}
