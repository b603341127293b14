// grid: ceil(H/128) N
// block: 128
// fault: values
// kinds: wrong_result
// silu as g e^g / (1 + e^g): for gates above 88 the exponential is infinite and Inf / Inf is NaN.

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= H) return;
    const __half* row = gate_up + (size_t)blockIdx.y * 2 * H;
    const float g = __half2float(row[i]), u = __half2float(row[H + i]), e = expf(g);
    out[(size_t)blockIdx.y * H + i] = __float2half(g * e / (1.0f + e) * u);
}
