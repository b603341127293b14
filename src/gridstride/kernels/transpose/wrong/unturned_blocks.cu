// Unturned blocks: each tile is turned, but it is written back to the place where it was read.
//
// entry: transpose_unturned_blocks
// block: 32 32
// grid: ceil(max(M,N)/32) ceil(max(M,N)/32)
// expect: wrong_result

extern "C" __global__ void transpose_unturned_blocks(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    tile[threadIdx.y][threadIdx.x] = row < M && column < N ? in[row * N + column] : 0.0f;
    __syncthreads();
    if (row < N && column < M) out[row * M + column] = tile[threadIdx.x][threadIdx.y];
}
