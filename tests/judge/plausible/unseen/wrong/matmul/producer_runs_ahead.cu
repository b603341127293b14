// grid: ceil(N/32) ceil(M/32)
// block: 288
// fault: order of blocks
// kinds: deadlock race
// The warp that loads does not wait until a stage has been read before it fills it again, and may arrive twice at the same barrier: a race where there are more than two steps (K > 16).

__device__ __forceinline__ void wait(int barrier) { asm volatile("bar.sync %0, 288;" :: "r"(barrier) : "memory"); }
__device__ __forceinline__ void arrive(int barrier)
{
    __threadfence_block();
    asm volatile("bar.arrive %0, 288;" :: "r"(barrier) : "memory");
}

__global__ void matmul(const float* A, const float* B, float* C, int M, int N, int K)
{
    constexpr int full = 1;                      // barriers full, full + 1
    __shared__ float a[2][32][9], b[2][8][33];
    const int row0 = blockIdx.y * 32, column0 = blockIdx.x * 32, steps = (K + 7) / 8;
    if (threadIdx.x >= 256) {
        const int lane = threadIdx.x - 256;
        for (int step = 0; step < steps; ++step) {
            const int s = step & 1, k0 = step * 8;
            for (int k = 0; k < 8; ++k) {
                a[s][lane][k] = row0 + lane < M && k0 + k < K ? A[(size_t)(row0 + lane) * K + k0 + k] : 0.0f;
                b[s][k][lane] = k0 + k < K && column0 + lane < N ? B[(size_t)(k0 + k) * N + column0 + lane] : 0.0f;
            }
            arrive(full + s);
        }
        return;
    }
    const int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
    float sum[4] = {};
    for (int step = 0; step < steps; ++step) {
        const int s = step & 1;
        wait(full + s);
        for (int k = 0; k < 8; ++k)
            for (int j = 0; j < 4; ++j) sum[j] = fmaf(a[s][ty + 8 * j][k], b[s][k][tx], sum[j]);
    }
    for (int j = 0; j < 4; ++j)
        if (row0 + ty + 8 * j < M && column0 + tx < N) C[(size_t)(row0 + ty + 8 * j) * N + column0 + tx] = sum[j];
}
