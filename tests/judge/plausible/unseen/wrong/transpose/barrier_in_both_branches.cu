// grid: ceil(N/32) ceil(M/8)
// block: 32 8
// fault: divergent barrier
// kinds: barrier_divergence
// Threads beyond the right edge go another way with one barrier more, and part of a warp waits elsewhere: N % 32 != 0.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ int tile[8][33];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 32 + x, row = blockIdx.y * 8 + y;
    if (column < N) {
        if (row < M) tile[y][x] = __float_as_int(in[(size_t)row * N + column]);
        __syncthreads();
    } else {
        for (int round = 0; round < 2; ++round) __syncthreads();
    }
    const int t = y * 32 + x, r = blockIdx.y * 8 + t % 8, c = blockIdx.x * 32 + t / 8;
    if (r < M && c < N) out[(size_t)c * M + r] = __int_as_float(tile[t % 8][t / 8]);
}
