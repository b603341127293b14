// Block not turned. The tile is turned in shared memory and then written to the place that it was read from. A square
// matrix of one tile comes out right, which is the first that everybody tries; beyond one tile the blocks have to swap too.
//
// block: 32 8
// grid: ceil(max(M,N)/32) ceil(max(M,N)/32)
// expect: wrong_result

extern "C" __global__ void transpose(const float* in, float* out, int M, int N)
{
    __shared__ float tile[32][33];
    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y;
    for (int i = 0; i < 32; i += 8) {
        tile[y + i][x] = row + i < M && column < N ? in[(size_t)(row + i) * N + column] : 0.0f;
    }
    __syncthreads();
    for (int i = 0; i < 32; i += 8) {
        if (row + i < N && column < M) out[(size_t)(row + i) * M + column] = tile[x][y + i];
    }
}
