// grid: ceil(N/128) ceil(M/128)
// block: 32 32
// fault: shared memory
// kinds: launch compile_error
// A tile of 128 x 129 floats is 64.5 KiB: static shared memory ends at 48 KiB.
__global__ void transpose128(const float* in, float* out, int M, int N)
{
    __shared__ float tile[128][129];
    const int r0 = blockIdx.y * 128, c0 = blockIdx.x * 128;
    for (int y = threadIdx.y; y < 128; y += 32)
        for (int x = threadIdx.x; x < 128; x += 32)
            if (r0 + y < M && c0 + x < N) tile[y][x] = in[(size_t)(r0 + y) * N + c0 + x];
    __syncthreads();
    for (int y = threadIdx.y; y < 128; y += 32)
        for (int x = threadIdx.x; x < 128; x += 32)
            if (c0 + y < N && r0 + x < M) out[(size_t)(c0 + y) * M + r0 + x] = tile[x][y];
}
