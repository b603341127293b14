// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: divergent barrier
// kinds: barrier_divergence uninitialised_read wrong_result out_of_bounds
// Only threads with an element of C load and meet at the barriers: at the edge parts of the tiles stay unwritten.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][16], b[16][16];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    if (row < M && column < N) {
        float sum = 0.0f;
        for (int k = 0; k < K; k += 16) {
            a[y][x] = k + x < K ? A[(size_t)row * K + k + x] : 0.0f;
            b[y][x] = k + y < K ? B[(size_t)(k + y) * N + column] : 0.0f;
            __syncthreads();
            for (int i = 0; i < 16; ++i) sum += a[y][i] * b[i][x];
            __syncthreads();
        }
        C[(size_t)row * N + column] = sum;
    }
}
