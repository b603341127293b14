// grid: ceil(N/8) M
// block: 32 8
// fault: tail
// kinds: wrong_result
// Steps are taken by fours, the rest by pairs: an odd number of steps loses its last one.

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 8 + threadIdx.y, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    const __half *a = x + (size_t)m * K + threadIdx.x, *b = weight + (size_t)n * K + threadIdx.x;
    auto product = [&](int s) { return __half2float(a[32 * s]) * __half2float(b[32 * s]); };
    float sum = 0.0f;
    int s = 0;
    for (; s + 3 < steps; s += 4) sum += product(s) + product(s + 1) + product(s + 2) + product(s + 3);
    for (; s + 1 < steps || s == 0 && steps == 1; s += 2) sum += steps == 1 ? product(s) : product(s) + product(s + 1);
    for (int o = 16; o; o >>= 1) sum += __shfl_down_sync(~0u, sum, o);
    if (threadIdx.x == 0) y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
}
