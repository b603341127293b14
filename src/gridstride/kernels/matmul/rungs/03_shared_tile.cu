// 03 shared tile: a block copies a 32x32 tile of A and of B into shared memory and reads it 32 times.
//
// Moves: global requests per thread, from 2 for every step of k to 2 for every 32 steps: 1/32. The reads
//   that remain go to shared memory: two for every multiply-add, which is the next thing in the way.
// Mapping: thread (x, y) -> column = blockIdx.x * 32 + x, row = blockIdx.y * 32 + y; it also loads element
//   (y, x) of both tiles. Elements outside the matrices are loaded as 0, so every size is right.
//
// entry: matmul_shared_tile
// block: 32 32
// grid: ceil(N/32) ceil(M/32)

constexpr int TILE = 32;  // rows and columns of a tile, in floats; a row is one 128-byte line

extern "C" __global__ void matmul_shared_tile(const float* __restrict__ A, const float* __restrict__ B,
                                              float* __restrict__ C, int M, int N, int K)
{
    __shared__ float tile_a[TILE][TILE];
    __shared__ float tile_b[TILE][TILE];

    const int x = threadIdx.x;
    const int y = threadIdx.y;
    const int column = blockIdx.x * TILE + x;
    const int row = blockIdx.y * TILE + y;

    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        tile_a[y][x] = (row < M && start + x < K) ? A[(size_t)row * K + start + x] : 0.0f;
        tile_b[y][x] = (start + y < K && column < N) ? B[(size_t)(start + y) * N + column] : 0.0f;
        __syncthreads();  // the whole tile is there before anyone reads it

        for (int k = 0; k < TILE; ++k) {
            sum += tile_a[y][k] * tile_b[k][x];
        }
        __syncthreads();  // everyone has read it before anyone overwrites it
    }
    if (row < M && column < N) C[(size_t)row * N + column] = sum;
}
