// grid: ceil(N/32) ceil(M/32)
// block: 32 8
// fault: guard not swapped
// kinds: out_of_bounds uninitialised_read
// After the tile is turned the bounds are still those of the reading side.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (r + k < M && c < N) tile[threadIdx.y + k][threadIdx.x] = in[(size_t)(r + k) * N + c];
    __syncthreads();
    int oc = blockIdx.y * 32 + threadIdx.x, orow = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8)
        if (r + k < M && c < N) out[(size_t)(orow + k) * M + oc] = tile[threadIdx.x][threadIdx.y + k];
}
