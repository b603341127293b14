// grid: ceil(M/32)*ceil(N/32)
// block: 32 4 2
// Diagonal order of the tiles, all blocks along x, and threads in three dimensions.
__global__ void transpose_diagonal(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32 * 33];
    const int rows = (M + 31) / 32, columns = (N + 31) / 32;
    const int by = blockIdx.x / columns, bx = (blockIdx.x % columns + by) % columns;
    const int x = threadIdx.x, y0 = threadIdx.z * 4 + threadIdx.y;
    if (by >= rows) return;
    for (int y = y0; y < 32; y += 8)
        if (by * 32 + y < M && bx * 32 + x < N) tile[y * 33 + x] = in[(size_t)(by * 32 + y) * N + bx * 32 + x];
    __syncthreads();
    for (int y = y0; y < 32; y += 8)
        if (bx * 32 + y < N && by * 32 + x < M) out[(size_t)(bx * 32 + y) * M + by * 32 + x] = tile[x * 33 + y];
}
