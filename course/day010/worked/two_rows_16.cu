// Each thread has two elements of C, one 16 rows below the other: the block makes 32 rows of it.
//
// entry: two_rows_16
// block: 16 16
// grid: ceil(N/16) ceil(M/32)

constexpr int TILE = 16;

extern "C" __global__ void two_rows_16(
    const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[2 * TILE][TILE];
    __shared__ float b[TILE][TILE];

    const int x = threadIdx.x, y = threadIdx.y;
    const int column = blockIdx.x * TILE + x;
    const int row = blockIdx.y * 2 * TILE + y, lower = row + TILE;

    float sum = 0.0f, lower_sum = 0.0f;
    for (int start = 0; start < K; start += TILE) {
        const int k_a = start + x, k_b = start + y;
        a[y][x] = row < M && k_a < K ? A[row * K + k_a] : 0.0f;
        a[y + TILE][x] = lower < M && k_a < K ? A[lower * K + k_a] : 0.0f;
        b[y][x] = k_b < K && column < N ? B[k_b * N + column] : 0.0f;
        __syncthreads();

        for (int k = 0; k < TILE; ++k) {
            sum += a[y][k] * b[k][x];
            lower_sum += a[y + TILE][k] * b[k][x];
        }
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
    if (lower < M && column < N) C[lower * N + column] = lower_sum;
}
