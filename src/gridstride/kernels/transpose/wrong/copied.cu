// Copied: the indices are not swapped, so the matrix comes out as it went in.
//
// entry: transpose_copied
// block: 32 8
// grid: ceil(N/32) ceil(M/8)
// expect: wrong_result transposed

extern "C" __global__ void transpose_copied(const float* in, float* out, int M, int N)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row < M && column < N) out[row * N + column] = in[row * N + column];
}
