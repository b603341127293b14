// grid: ceil(N/80) ceil(M/1024)
// block: 1024
// fault: registers
// kinds: launch
// Eighty sums per thread in blocks of 1,024, where a multiprocessor has 64 registers for each thread: it cannot start.
__global__ void mm_regs(const float* A, const float* B, float* C, int M, int N, int K)
{
    int r = blockIdx.y * 1024 + threadIdx.x, c0 = blockIdx.x * 80;
    if (r >= M) return;
    float acc[80];
#pragma unroll
    for (int u = 0; u < 80; ++u) acc[u] = 0;
    for (int k = 0; k < K; ++k) {
        float a = A[(size_t)r * K + k];
#pragma unroll
        for (int u = 0; u < 80; ++u) acc[u] += a * B[(size_t)k * N + min(c0 + u, N - 1)];
    }
#pragma unroll
    for (int u = 0; u < 80; ++u)
        if (c0 + u < N) C[(size_t)r * N + c0 + u] = acc[u];
}
