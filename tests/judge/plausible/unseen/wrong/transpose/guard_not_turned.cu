// grid: ceil(N/32) ceil(M/32)
// block: 32 8
// fault: edge guard of non-square
// kinds: out_of_bounds uninitialised_read
// The guard of the store is the load's, not turned with the tile.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < N && y + j < M) tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * N + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < N && y + j < M) out[(y + j) * M + x] = tile[threadIdx.x][threadIdx.y + j];
}
