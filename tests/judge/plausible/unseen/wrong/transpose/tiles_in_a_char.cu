// grid: ceil(N/32)
// block: 32 8
// fault: index type
// kinds: wrong_result uninitialised_read
// The number of tiles down a column is a signed char: from M = 4065 on it is negative and nothing is done.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    const signed char tiles = (M + 31) / 32;
    for (signed char k = 0; k < tiles; ++k) {
        for (int y = threadIdx.y; y < 32; y += 8) {
            const int row = k * 32 + y, column = blockIdx.x * 32 + threadIdx.x;
            if (row < M && column < N) tile[y][threadIdx.x] = in[(size_t)row * N + column];
        }
        __syncthreads();
        for (int y = threadIdx.y; y < 32; y += 8) {
            const int row = k * 32 + threadIdx.x, column = blockIdx.x * 32 + y;
            if (row < M && column < N) out[(size_t)column * M + row] = tile[threadIdx.x][y];
        }
        __syncthreads();
    }
}
