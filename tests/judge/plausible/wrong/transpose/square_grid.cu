// grid: ceil(N/32) ceil(N/32)
// block: 32 32
// fault: non-square
// kinds: wrong_result
// Blocks for N x N: with more rows than that (M > N rounded up to 32) the lower ones are never turned.
__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float t[32][33];
    int x = blockIdx.x * 32, y = blockIdx.y * 32;
    if (y + threadIdx.y < M && x + threadIdx.x < N)
        t[threadIdx.y][threadIdx.x] = in[(size_t)(y + threadIdx.y) * N + x + threadIdx.x];
    __syncthreads();
    if (x + threadIdx.y < N && y + threadIdx.x < M)
        out[(size_t)(x + threadIdx.y) * M + y + threadIdx.x] = t[threadIdx.x][threadIdx.y];
}
