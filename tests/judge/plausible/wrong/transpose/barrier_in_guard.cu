// grid: ceil(N/32) ceil(M/32)
// block: 32 8
// fault: divergent barrier
// kinds: barrier_divergence deadlock race uninitialised_read
// The barrier stands in the branch of the columns that exist, and a second one behind it: N % 32 parts the warps.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float t[32][33];
    int tx = threadIdx.x, c = blockIdx.x * 32 + tx, r0 = blockIdx.y * 32;
    if (c < N) {
        for (int y = threadIdx.y; y < 32; y += 8)
            if (r0 + y < M) t[y][tx] = in[(size_t)(r0 + y) * N + c];
        __syncthreads();
    }
    for (int y = threadIdx.y; y < 32; y += 8)
        if (blockIdx.x * 32 + y < N && r0 + tx < M) out[(size_t)(blockIdx.x * 32 + y) * M + r0 + tx] = t[tx][y];
    __syncthreads();
}
