// grid: ceil(N/32) M
// block: 32
// fault: index type
// kinds: wrong_result
// The beginning of a row of weights is a product of two sizes in 16 bits: wrong above 65,536 weights.

#include <cuda_fp16.h>

struct Rows {
    const __half* base;
    unsigned short pitch;
    __device__ const __half* operator[](unsigned short row) const
    {
        const unsigned short start = row * pitch;
        return base + start;
    }
};

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const int n = blockIdx.x * 32 + threadIdx.x, m = blockIdx.y, K = 32 * steps;
    if (n >= N) return;
    const Rows rows{weight, (unsigned short)K};
    const __half *a = x + (size_t)m * K, *b = rows[n];
    float sum = 0.0f;
    for (int k = 0; k < K; ++k) sum = fmaf(__half2float(a[k]), __half2float(b[k]), sum);
    y[(size_t)m * N + n] = __float2half(sum + __half2float(bias[n]));
}
