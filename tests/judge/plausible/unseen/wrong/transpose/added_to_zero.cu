// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: values
// kinds: wrong_result
// The tile is cleared and added to, not assigned: -0 becomes 0, and a NaN loses its payload.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[16][17];
    tile[threadIdx.y][threadIdx.x] = 0.0f;
    const int column = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
    if (row < M && column < N) atomicAdd(&tile[threadIdx.y][threadIdx.x], in[(long long)row * N + column]);
    __syncthreads();
    const int i = blockIdx.y * 16 + threadIdx.x, j = blockIdx.x * 16 + threadIdx.y;
    if (i < M && j < N) out[(long long)j * M + i] = tile[threadIdx.x][threadIdx.y];
}
