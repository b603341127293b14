// grid: ceil(N/32) ceil(M/64)
// block: 32 8
// fault: race between warps
// kinds: race wrong_result
// Two tiles one after the other in the same shared memory, without a barrier before the second is loaded: M above 32.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    for (int half = 0; half < 2; ++half) {
        const int top = blockIdx.y * 64 + 32 * half, left = blockIdx.x * 32;
        if (top >= M) break;
        for (int y = threadIdx.y; y < 32; y += 8)
            if (top + y < M && left + threadIdx.x < N) tile[y][threadIdx.x] = in[(size_t)(top + y) * N + left + threadIdx.x];
        __syncthreads();
        for (int y = threadIdx.y; y < 32; y += 8)
            if (left + y < N && top + threadIdx.x < M) out[(size_t)(left + y) * M + top + threadIdx.x] = tile[threadIdx.x][y];
    }
}
