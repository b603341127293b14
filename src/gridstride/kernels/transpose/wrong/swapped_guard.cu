// Swapped guard: rows are compared with the number of columns and the other way round.
//
// entry: transpose_swapped_guard
// block: 32 8
// grid: ceil(max(M,N)/32) ceil(max(M,N)/8)
// expect: out_of_bounds

extern "C" __global__ void transpose_swapped_guard(const float* in, float* out, int M, int N)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < N && column < M) {
        out[column * M + row] = in[row * N + column];  // <- here
    }
}
