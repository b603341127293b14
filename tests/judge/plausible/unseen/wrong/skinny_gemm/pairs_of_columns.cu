// grid: ceil(N/64) M
// block: 32
// fault: alignment of some rows
// kinds: misaligned out_of_bounds wrong_result
// Two columns are stored at once: with an odd N every second row of y begins between, and bias is read past its end.

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = 2 * (blockIdx.x * 32 + threadIdx.x), m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    const float2 b = __half22float2(*(const __half2*)(bias + n));
    const __half *first = weight + (size_t)n * K, *second = n + 1 < N ? first + K : first;
    float u = b.x, v = b.y;
    for (int k = 0; k < K; ++k) {
        const float a = __half2float(x[(size_t)m * K + k]);
        u += a * __half2float(first[k]);
        v += a * __half2float(second[k]);
    }
    *(__half2*)(y + (size_t)m * N + n) = __floats2half2_rn(u, v);
}
