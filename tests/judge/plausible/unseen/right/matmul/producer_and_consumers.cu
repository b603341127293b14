// grid: ceil(N/32) ceil(M/32)
// block: 160
//
// One warp loads, four compute; two buffers handed over by named barriers.

__device__ __forceinline__ void meet(int barrier) { asm volatile("bar.sync %0, 160;" ::"r"(barrier) : "memory"); }
__device__ __forceinline__ void announce(int barrier) { asm volatile("bar.arrive %0, 160;" ::"r"(barrier) : "memory"); }

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    __shared__ float a[2][32][9], b[2][8][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int top = blockIdx.y * 32, left = blockIdx.x * 32, steps = (K + 7) / 8;
    const int full = 1, empty = 3;
    if (warp == 4) {
        for (int s = 0; s < steps; ++s) {
            const int stage = s & 1, k = s * 8;
            if (s >= 2) meet(empty + stage);
            for (int e = lane; e < 256; e += 32) {
                const int r = e / 8, c = e % 8;
                a[stage][r][c] = top + r < M && k + c < K ? A[(size_t)(top + r) * K + k + c] : 0.0f;
            }
            for (int r = 0; r < 8; ++r)
                b[stage][r][lane] = k + r < K && left + lane < N ? B[(size_t)(k + r) * N + left + lane] : 0.0f;
            __threadfence_block();
            announce(full + stage);
        }
        return;
    }
    float sums[8] = {};
    for (int s = 0; s < steps; ++s) {
        const int stage = s & 1;
        meet(full + stage);
        for (int k = 0; k < 8; ++k)
            for (int j = 0; j < 8; ++j) sums[j] += a[stage][warp * 8 + j][k] * b[stage][k][lane];
        if (s + 2 < steps) announce(empty + stage);
    }
    for (int j = 0; j < 8; ++j)
        if (top + warp * 8 + j < M && left + lane < N) C[(size_t)(top + warp * 8 + j) * N + left + lane] = sums[j];
}
