// grid: ceil(N/16) ceil(M/16)
// block: 16 16
// fault: wrong formula
// kinds: wrong_result
// Beyond K the tile of A is zero but that of B repeats B's last row: 0 * Inf or 0 * NaN makes a sum NaN, where K % 16 != 0 and the last row of B holds an Inf (expected +-Inf).

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[16][16], b[16][17];
    const int tx = threadIdx.x, ty = threadIdx.y, column = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
    float sum = 0.0f;
    for (int k0 = 0; k0 < K; k0 += 16) {
        a[ty][tx] = row < M && k0 + tx < K ? A[row * K + k0 + tx] : 0.0f;
        b[ty][tx] = column < N ? B[min(k0 + ty, K - 1) * N + column] : 0.0f;
        __syncthreads();
        for (int k = 0; k < 16; ++k) sum = fmaf(a[ty][k], b[k][tx], sum);
        __syncthreads();
    }
    if (row < M && column < N) C[row * N + column] = sum;
}
