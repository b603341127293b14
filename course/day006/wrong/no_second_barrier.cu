// No second barrier. What follows the last read of a tile is the end of the loop, and there seems to be nothing to wait for.
// But the loop goes on at its top. A warp that was quick fills the tile there from which slower ones still read.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)
// expect: race

constexpr int TILE = 32;  // rows and columns of a tile, and of the block

extern "C" __global__ void product(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x;
    const int row = blockIdx.y * TILE + y;

    float sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        a[y][x] = row < M && start + x < K ? A[(long long)row * K + start + x] : 0.0f;
        b[y][x] = start + y < K && column < N ? B[(long long)(start + y) * N + column] : 0.0f;  // <- here
        __syncthreads();

        for (int k = 0; k < TILE; ++k) sum += a[y][k] * b[k][x];  // <- here
    }
    if (row < M && column < N) C[(long long)row * N + column] = sum;
}
