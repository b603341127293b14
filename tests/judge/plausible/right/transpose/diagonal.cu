// grid: ceil(N/32) ceil(M/32)
// block: 32 8
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    int bx = blockIdx.x, by = blockIdx.y;
    // powers of two: all blocks of a column would meet in one partition of memory
    if (min(gridDim.x, gridDim.y) >= 8 && __popc(M) + __popc(N) == 2) { by ^= bx & (gridDim.y - 1); }
    int x = bx * 32 + threadIdx.x, y = by * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < N && y + j < M) tile[threadIdx.y + j][threadIdx.x] = in[(size_t)(y + j) * N + x];
    __syncthreads();
    x = by * 32 + threadIdx.x;
    y = bx * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < M && y + j < N) out[(size_t)(y + j) * M + x] = tile[threadIdx.x][threadIdx.y + j];
}
