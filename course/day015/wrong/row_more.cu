// A row more. `+ 1` is the right idea on the wrong index: the tile has one more row, and each row is as long as before, so
// a column still lies in one bank. Every value comes out right, and so no test of values will ever find it.
//
// block: 32 8
// grid: ceil(N/32) ceil(M/32)
// expect: too_many bank_conflicts

extern "C" __global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32 + 1][32];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
    for (int i = 0; i < 32; i += 8) {
        if (row + i < M && column < N) tile[y + i][x] = in[(size_t)(row + i) * N + column];
    }
    __syncthreads();
    const int out_column = blockIdx.y * 32 + x, out_row = blockIdx.x * 32 + y;
    for (int i = 0; i < 32; i += 8) {
        if (out_row + i < N && out_column < M) {
            out[(size_t)(out_row + i) * M + out_column] = tile[x][y + i];  // <- here
        }
    }
}
