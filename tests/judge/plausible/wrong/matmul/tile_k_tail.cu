// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: values
// kinds: wrong_result
// Tiles of 16 in K; beyond K the tile of A is left as it was, B's is 0: old · 0 is NaN where the old value was
// Inf.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K) {
    __shared__ float a[16][16], b[16][16];
    int tx = threadIdx.x, ty = threadIdx.y, r = blockIdx.y * 16 + ty, c = blockIdx.x * 16 + tx; float s = 0;
    a[ty][tx] = 0;
    for (int k = 0; k < K; k += 16) {
        if (r < M && k + tx < K) a[ty][tx] = A[(size_t)r * K + k + tx];
        b[ty][tx] = c < N && k + ty < K ? B[(size_t)(k + ty) * N + c] : 0;
        __syncthreads();
        for (int j = 0; j < 16; j++) s += a[ty][j] * b[j][tx];
        __syncthreads();
    }
    if (r < M && c < N) C[(size_t)r * N + c] = s;
}
