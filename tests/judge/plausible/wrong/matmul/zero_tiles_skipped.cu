// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: NaN and infinity
// kinds: wrong_result
// Steps whose tile of A is all zeros are skipped ('sparse'): 0 times Inf or NaN in B is NaN.
__global__ void mm(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][16], b[16][17];
    int x = threadIdx.x, y = threadIdx.y, col = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float s = 0;
    for (int k = 0; k < K; k += 16) {
        float v = row < M && k + x < K ? A[(size_t)row * K + k + x] : 0.0f;
        if (__syncthreads_and(v == 0.0f)) continue;
        a[y][x] = v;
        b[y][x] = col < N && k + y < K ? B[(size_t)(k + y) * N + col] : 0.0f;
        __syncthreads();
        for (int j = 0; j < 16; j++) s += a[y][j] * b[j][x];
        __syncthreads();
    }
    if (row < M && col < N) C[(size_t)row * N + col] = s;
}
