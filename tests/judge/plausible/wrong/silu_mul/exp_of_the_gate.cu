// grid: ceil(H/128) N
// block: 128
// fault: overflow
// kinds: wrong_result
// g e^g / (1 + e^g): infinity over infinity, NaN, for gates above 88.
#include <cuda_fp16.h>
__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    int c = blockIdx.x * 128 + threadIdx.x, r = blockIdx.y;
    if (c >= H) return;
    float g = __half2float(gate_up[(size_t)r * 2 * H + c]), u = __half2float(gate_up[(size_t)r * 2 * H + H + c]);
    float e = expf(g);
    out[(size_t)r * H + c] = __float2half(g * e / (1.0f + e) * u);
}
