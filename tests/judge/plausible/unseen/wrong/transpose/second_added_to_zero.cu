// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: wrong formula
// kinds: wrong_result
// The value goes through 0.0f + value: -0 becomes +0 and a signalling NaN a quiet or another one, where the answer must be right to the bit.

__global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[16][17];
    tile[threadIdx.y][threadIdx.x] = 0.0f;
    __syncthreads();
    int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    if (x < N && y < M) tile[threadIdx.y][threadIdx.x] += in[y * N + x];
    __syncthreads();
    x = blockIdx.y * 16 + threadIdx.x;
    y = blockIdx.x * 16 + threadIdx.y;
    if (x < M && y < N) out[y * M + x] = tile[threadIdx.x][threadIdx.y];
}
