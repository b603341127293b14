// grid: ceil(N/128) M
// block: 64
// fault: tail of 2
// kinds: misaligned out_of_bounds wrong_result
// Two outputs per thread as one __half2: an odd N misaligns every other row and overruns the last.
#include <cuda_fp16.h>
__global__ void linear2(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    int n = 2 * (blockIdx.x * 64 + threadIdx.x), m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    float a = 0, b = 0;
    for (int k = 0; k < K; ++k) {
        float v = __half2float(x[(size_t)m * K + k]);
        a += v * __half2float(weight[(size_t)n * K + k]);
        b += v * __half2float(weight[(size_t)(n + 1) * K + k]);
    }
    float2 c = __half22float2(*(const __half2*)(bias + n));
    *(__half2*)(y + (size_t)m * N + n) = __floats2half2_rn(a + c.x, b + c.y);
}
