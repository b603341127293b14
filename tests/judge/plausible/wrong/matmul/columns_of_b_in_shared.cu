// grid: ceil(N/16)
// block: 16 16
// shared: 4*16*K
// fault: shared memory
// kinds: launch
// Sixteen whole columns of B per block: 4,096 rows take 256 KiB of shared memory, and there are 227.
__global__ void mm_panel(const float* A, const float* B, float* C, int M, int N, int K)
{
    extern __shared__ float panel[];
    int x = threadIdx.x, c = blockIdx.x * 16 + x;
    for (int k = threadIdx.y; k < K; k += 16) panel[k * 16 + x] = c < N ? B[(size_t)k * N + c] : 0;
    __syncthreads();
    if (c >= N) return;
    for (int r = threadIdx.y; r < M; r += 16) {
        float s = 0;
        for (int k = 0; k < K; ++k) s += A[(size_t)r * K + k] * panel[k * 16 + x];
        C[(size_t)r * N + c] = s;
    }
}
