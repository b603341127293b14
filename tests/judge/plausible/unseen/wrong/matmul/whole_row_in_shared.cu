// grid: ceil(N/128) M
// block: 128
// fault: fixed cache
// kinds: out_of_bounds
// A row of A is kept in shared memory with room for 4,096: K = 5000 does not fit.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[4096];
    const size_t row = blockIdx.y;
    for (int k = threadIdx.x; k < K; k += 128) a[k] = A[row * K + k];
    __syncthreads();
    const int column = blockIdx.x * 128 + threadIdx.x;
    if (column >= N) return;
    float sum = 0.0f;
#pragma unroll 4
    for (int k = 0; k < K; ++k) sum += a[k] * B[(size_t)k * N + column];
    C[row * N + column] = sum;
}
