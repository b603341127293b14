// grid: ceil(N/64) M
// block: 32
// fault: alignment
// kinds: misaligned race
// Y is written in pairs of columns: for odd N every second row's pairs are misaligned (M >= 2), and the last pair writes one column too many.

#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = 2 * (blockIdx.x * 32 + threadIdx.x), m = blockIdx.y, depth = 32 * steps;
    if (n >= N) return;
    const __half* w0 = weight + (size_t)n * depth;
    const __half* w1 = n + 1 < N ? w0 + depth : w0;
    float s0 = 0.0f, s1 = 0.0f;
    for (int k = 0; k < depth; ++k) {
        const float v = __half2float(x[(size_t)m * depth + k]);
        s0 = fmaf(v, __half2float(w0[k]), s0);
        s1 = fmaf(v, __half2float(w1[k]), s1);
    }
    const __half2 pair = __floats2half2_rn(s0 + __half2float(bias[n]), s1 + __half2float(bias[min(n + 1, N - 1)]));
    *reinterpret_cast<__half2*>(y + (size_t)m * N + n) = pair;
}
