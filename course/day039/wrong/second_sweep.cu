// Second sweep. One launch instead of three, so it is fused: the product is stored, and then the block goes over its piece of Y
// once more. The launches are saved; each element still goes to memory and back, which was what fusion is for.
//
// block: 16 16
// grid: ceil(N/64) ceil(M/64)
// expect: too_many stores

constexpr int TILE = 64;           // rows and columns of Y for a block
constexpr int STEP = 16;           // of k, for which a tile of X and of W is in shared memory
constexpr int SIDE = 16;           // threads along each side of the block
constexpr int EACH = TILE / SIDE;  // rows and columns of Y for a thread

__device__ float gelu(float v)
{
    return 0.5f * v * (1.0f + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}

extern "C" __global__ void layer(const float* X, const float* W, const float* b, float* Y, int M, int N, int K)
{
    __shared__ float tile_x[TILE][STEP];
    __shared__ float tile_w[STEP][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int t = y * SIDE + x;
    const int top = blockIdx.y * TILE, left = blockIdx.x * TILE;  // of the block's piece of Y

    float sum[EACH][EACH] = {};  // of rows y + 16 i and columns x + 16 j
    for (int start = 0; start < K; start += STEP) {
        for (int e = t; e < TILE * STEP; e += SIDE * SIDE) {
            const int row = top + e / STEP, k_x = start + e % STEP;
            const int k_w = start + e / TILE, column = left + e % TILE;
            tile_x[e / STEP][e % STEP] = row < M && k_x < K ? X[(size_t)row * K + k_x] : 0.0f;
            tile_w[e / TILE][e % TILE] = k_w < K && column < N ? W[(size_t)k_w * N + column] : 0.0f;
        }
        __syncthreads();

        for (int k = 0; k < STEP; ++k) {
            float p[EACH], q[EACH];
            for (int i = 0; i < EACH; ++i) p[i] = tile_x[y + SIDE * i][k];
            for (int j = 0; j < EACH; ++j) q[j] = tile_w[k][x + SIDE * j];
            for (int i = 0; i < EACH; ++i) {
                for (int j = 0; j < EACH; ++j) sum[i][j] += p[i] * q[j];
            }
        }
        __syncthreads();
    }
    for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) {
            const int row = top + y + SIDE * i, column = left + x + SIDE * j;
            if (row < M && column < N) Y[(size_t)row * N + column] = sum[i][j];
        }
    }
    for (int i = 0; i < EACH; ++i) {
        for (int j = 0; j < EACH; ++j) {
            const int row = top + y + SIDE * i, column = left + x + SIDE * j;
            if (row < M && column < N) {
                volatile float* result = Y + (size_t)row * N + column;
                *result = gelu(*result + b[column]);
            }
        }
    }
}
