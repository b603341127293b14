// fault: the squares are formed in half precision, from what is left of x
// kinds: wrong_result
// grid: rows
// block: 32
#include <cuda_fp16.h>
__global__ void norm(const float* x, const float* weight, const float* bias, float* y, float* mean, float* rstd, int rows, int columns, float eps)
{
    const size_t at = (size_t)blockIdx.x * columns;
    float s = 0, q = 0;
    for (int i = threadIdx.x; i < columns; i += 32) s += x[at + i];
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    const float c = s / columns;
    for (int i = threadIdx.x; i < columns; i += 32) {
        const __half d = __float2half(x[at + i] - c);
        q += __half2float(__hmul(d, d));
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    const float r = rsqrtf(q / columns + eps);
    for (int i = threadIdx.x; i < columns; i += 32) y[at + i] = (x[at + i] - c) * r * weight[i] + bias[i];
    if (threadIdx.x == 0) mean[blockIdx.x] = c, rstd[blockIdx.x] = r;
}
