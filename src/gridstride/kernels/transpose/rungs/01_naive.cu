// 01 naive: one thread moves one element, reads along a row and writes down a column.
//
// Moves: nothing yet. A warp reads 4 sectors and writes to 32 different ones, of which it fills one eighth each.
// Mapping: thread (x, y) -> input column blockIdx.x * 32 + x, input row blockIdx.y * 8 + y.
//
// entry: transpose_naive
// block: 32 8
// grid: ceil(N/32) ceil(M/8)

extern "C" __global__ void transpose_naive(const float* __restrict__ in, float* __restrict__ out, int M, int N)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && column < N) out[(size_t)column * M + row] = in[(size_t)row * N + column];
}
