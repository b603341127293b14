// A warp holds a 8 x 32 tile in registers and hands X round by shuffles; no shared memory and no barrier.
// grid: ceil(N/32) ceil(M/8)
// block: 32
__global__ void linear_gelu(const float* X, const float* W, const float* b, float* Y, int M, int N, int K)
{
    const int lane = threadIdx.x, col = blockIdx.x * 32 + lane, row = blockIdx.y * 8;
    float c[8] = {};
    for (int k = 0; k < K; k += 32) {
        float x[8];
#pragma unroll
        for (int r = 0; r < 8; ++r) x[r] = row + r < M && k + lane < K ? X[(size_t)(row + r) * K + k + lane] : 0.0f;
        const int steps = min(32, K - k);
        for (int s = 0; s < steps; ++s) {
            const float w = col < N ? W[(size_t)(k + s) * N + col] : 0.0f;
#pragma unroll
            for (int r = 0; r < 8; ++r) c[r] = fmaf(__shfl_sync(~0u, x[r], s), w, c[r]);
        }
    }
    if (col >= N) return;
#pragma unroll
    for (int r = 0; r < 8; ++r)
        if (row + r < M) {
            const float v = c[r] + b[col];
            Y[(size_t)(row + r) * N + col] = 0.5f * v * (1.0f + tanhf(0.79788456f * (v + 0.044715f * v * v * v)));
        }
}
