// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: race between warps
// kinds: race wrong_result
// Two buffers, and a barrier for every second tile only: from the third tile on (K above 32) a warp overwrites what others read.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[2][16][16], b[2][16][17];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0.0f;
    for (int k = 0; k < K; k += 32) {
        for (int s = 0; s < 2; ++s) {
            const int ka = k + 16 * s + x, kb = k + 16 * s + y;
            a[s][y][x] = row < M && ka < K ? A[(size_t)row * K + ka] : 0.0f;
            b[s][y][x] = column < N && kb < K ? B[(size_t)kb * N + column] : 0.0f;
        }
        __syncthreads();
        for (int s = 0; s < 2; ++s)
            for (int i = 0; i < 16; ++i) sum += a[s][y][i] * b[s][i][x];
    }
    if (row < M && column < N) C[(size_t)row * N + column] = sum;
}
