// grid: ceil(N/256) M
// block: 256
// fault: fixed count
// kinds: out_of_bounds race
// A row of A is kept in shared memory with room for 64 steps of k.
__global__ void mm_row(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[64];
    for (int k = threadIdx.x; k < K; k += 256) a[k] = A[(size_t)blockIdx.y * K + k];
    __syncthreads();
    int j = blockIdx.x * 256 + threadIdx.x;
    if (j >= N) return;
    float s = 0;
    for (int k = 0; k < K; ++k) s += a[k] * B[(size_t)k * N + j];
    C[(size_t)blockIdx.y * N + j] = s;
}
