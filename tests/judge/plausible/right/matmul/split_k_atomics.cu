// grid: ceil(N/32) ceil(M/4)
// block: 32 4 2
// K in two halves, one per layer of the block; the halves meet in shared memory by a float atomic.
__global__ void mm_split(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float sum[4][32];
    const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 4 + threadIdx.y, half = threadIdx.z;
    if (half == 0) sum[threadIdx.y][threadIdx.x] = 0.0f;
    __syncthreads();
    if (c < N && r < M) {
        float s = 0;
        for (int k = half ? K / 2 : 0; k < (half ? K : K / 2); ++k) s += A[(size_t)r * K + k] * B[(size_t)k * N + c];
        atomicAdd(&sum[threadIdx.y][threadIdx.x], s);
    }
    __syncthreads();
    if (half == 1 && c < N && r < M) C[(size_t)r * N + c] = sum[threadIdx.y][threadIdx.x];
}
