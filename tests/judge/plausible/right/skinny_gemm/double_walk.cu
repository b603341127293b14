// grid: 64
// block: 33
// Grid-stride over the outputs in odd blocks, in float64.
#include <cuda_fp16.h>
__global__ void linear_double(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int K = 32 * steps;
    for (int e = blockIdx.x * 33 + threadIdx.x; e < M * N; e += 64 * 33) {
        const __half *a = x + (size_t)(e / N) * K, *b = weight + (size_t)(e % N) * K;
        double s = __half2float(bias[e % N]);
        for (int k = 0; k < K; ++k) s += (double)__half2float(a[k]) * __half2float(b[k]);
        y[e] = __float2half((float)s);
    }
}
