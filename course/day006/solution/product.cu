// C = A B for A of M by K and B of K by N floats, in steps of a tile.
//
// block: 32 32
// grid: ceil(N/32) ceil(M/32)

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
        b[y][x] = start + y < K && column < N ? B[(long long)(start + y) * N + column] : 0.0f;
        __syncthreads();  // both tiles are whole before anyone reads them

        for (int k = 0; k < TILE; ++k) sum += a[y][k] * b[k][x];
        __syncthreads();  // everyone has read them before anyone fills them again
    }
    if (row < M && column < N) C[(long long)row * N + column] = sum;
}
