// entry: product
// block: 16 16
// grid: ceil(N/64) ceil(M/64)

constexpr int TILE = 64, STEP = 16, SIDE = 16, EACH = TILE / SIDE;

extern "C" __global__ void product(
    const float* X, const float* W, float* Y, int M, int N, int K)
{
    __shared__ float tile_x[TILE][STEP];
    __shared__ float tile_w[STEP][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int t = y * SIDE + x;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;

    float sum[EACH][EACH] = {};
    for (int start = 0; start < K; start += STEP) {
        for (int e = t; e < TILE * STEP; e += SIDE * SIDE) {
            const int row = top + e / STEP, k_x = start + e % STEP;
            const int k_w = start + e / TILE, column = left + e % TILE;
            const bool in_x = row < M && k_x < K;
            const bool in_w = k_w < K && column < N;
            tile_x[e / STEP][e % STEP] = in_x ? X[row * K + k_x] : 0;
            tile_w[e / TILE][e % TILE] = in_w ? W[k_w * N + column] : 0;
        }
        __syncthreads();
        for (int k = 0; k < STEP; ++k) {
            for (int i = 0; i < EACH; ++i) {
                for (int j = 0; j < EACH; ++j) {
                    sum[i][j] += tile_x[y + SIDE * i][k] *
                                 tile_w[k][x + SIDE * j];
                }
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) {
            const int row = top + y + SIDE * i;
            const int column = left + x + SIDE * j;
            if (row < M && column < N) Y[row * N + column] = sum[i][j];
        }
    }
}
