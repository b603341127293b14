// grid: SMS
// block: 32 8
// fault: race in shared memory
// kinds: race
// Blocks take several tiles in a loop with one barrier: the next load overwrites the tile while others still read
// it.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    const int across = (N + 31) / 32, down = (M + 31) / 32;
    for (int t = blockIdx.x; t < across * down; t += gridDim.x) {
        const int bx = t % across * 32, by = t / across * 32;
        for (int j = threadIdx.y; j < 32; j += 8)
            if (bx + threadIdx.x < N && by + j < M) tile[j][threadIdx.x] = in[(by + j) * N + bx + threadIdx.x];
        __syncthreads();
        for (int j = threadIdx.y; j < 32; j += 8)
            if (by + threadIdx.x < M && bx + j < N) out[(bx + j) * M + by + threadIdx.x] = tile[threadIdx.x][j];
    }
}
