// Missing barrier: elements are read from the tile that another warp has not written yet.
//
// entry: transpose_missing_barrier
// block: 32 8
// grid: ceil(N/32) ceil(M/32)
// expect: race

extern "C" __global__ void transpose_missing_barrier(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        if (row + i < M && column < N) {
            tile[threadIdx.y + i][threadIdx.x] = in[(row + i) * N + column];  // <- here
        }
    }
    const int out_column = blockIdx.y * 32 + threadIdx.x, out_row = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        if (out_row + i < N && out_column < M) {
            out[(out_row + i) * M + out_column] = tile[threadIdx.x][threadIdx.y + i];  // <- here
        }
    }
}
