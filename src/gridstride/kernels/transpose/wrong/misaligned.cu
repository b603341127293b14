// Misaligned: rows are read as float4, which needs every row to start on a 16-byte boundary: N a multiple of 4.
//
// entry: transpose_misaligned
// block: 8 8
// grid: ceil(N/32) ceil(M/8)
// expect: misaligned

extern "C" __global__ void transpose_misaligned(const float* in, float* out, int M, int N)
{
    const int column = 4 * (blockIdx.x * blockDim.x + threadIdx.x);
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= M) return;
    if (column + 4 <= N) {
        const float4 v = *reinterpret_cast<const float4*>(in + row * N + column);  // <- here
        for (int i = 0; i < 4; ++i) out[(column + i) * M + row] = (&v.x)[i];
    } else {
        for (int c = column; c < N; ++c) out[c * M + row] = in[row * N + c];
    }
}
