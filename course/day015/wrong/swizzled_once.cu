// Swizzled once. The reads take the permuted place and the writes the plain one. It looks complete because the conflicts are
// gone; but an element must be looked for where it was put, so both sides permute or neither does.
//
// block: 32 8
// grid: ceil(N/32) ceil(M/32)
// expect: wrong_result

extern "C" __global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][32];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
    for (int i = 0; i < 32; i += 8) {
        tile[y + i][x] = row + i < M && column < N ? in[(size_t)(row + i) * N + column] : 0.0f;
    }
    __syncthreads();
    const int out_column = blockIdx.y * 32 + x, out_row = blockIdx.x * 32 + y;
    for (int i = 0; i < 32; i += 8) {
        if (out_row + i < N && out_column < M) {
            out[(size_t)(out_row + i) * M + out_column] = tile[x][(y + i) ^ x];
        }
    }
}
