// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: tail
// kinds: out_of_bounds wrong_result
// Of a tile's columns only B's are held to K: A is read past its row, into the next one or past its end, and 0 * Inf is NaN.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][16], b[16][16];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0.0f;
    for (int k = 0; k < K; k += 16) {
        a[y][x] = row < M ? A[(size_t)row * K + k + x] : 0.0f;
        b[y][x] = column < N && k + y < K ? B[(size_t)(k + y) * N + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += a[y][i] * b[i][x];
        __syncthreads();
    }
    if (row < M && column < N) C[(size_t)row * N + column] = sum;
}
