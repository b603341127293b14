// grid: ceil(N/256) ceil(M/512)
// block: 32 32
// fault: what hardware refuses
// kinds: launch
// 128 sums in the registers of each of 1,024 threads: more registers than a multiprocessor has.

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    float sums[16][8] = {};
    const int left = blockIdx.x * 256 + threadIdx.x, top = blockIdx.y * 512 + threadIdx.y;
    for (int k = 0; k < K; ++k) {
        float a[16], b[8];
#pragma unroll
        for (int r = 0; r < 16; ++r) a[r] = top + 32 * r < M ? A[(size_t)(top + 32 * r) * K + k] : 0.0f;
#pragma unroll
        for (int c = 0; c < 8; ++c) b[c] = left + 32 * c < N ? B[(size_t)k * N + left + 32 * c] : 0.0f;
#pragma unroll
        for (int r = 0; r < 16; ++r)
#pragma unroll
            for (int c = 0; c < 8; ++c) sums[r][c] += a[r] * b[c];
    }
#pragma unroll
    for (int r = 0; r < 16; ++r)
#pragma unroll
        for (int c = 0; c < 8; ++c)
            if (top + 32 * r < M && left + 32 * c < N) C[(size_t)(top + 32 * r) * N + left + 32 * c] = sums[r][c];
}
