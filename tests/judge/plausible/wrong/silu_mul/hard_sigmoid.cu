// grid: ceil(H/128) N
// block: 128
// fault: wrong formula
// kinds: wrong_result
// Gates below -10 are taken for 0 "as nothing is left of them": 10 e^-10 is 4.5e-4, well within half, and times up.
#include <cuda_fp16.h>
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    int c = blockIdx.x * 128 + threadIdx.x, r = blockIdx.y;
    if (c >= H) return;
    float g = __half2float(gate_up[(size_t)2 * r * H + c]), u = __half2float(gate_up[(size_t)2 * r * H + H + c]);
    float s = g < -10.0f ? 0.0f : g > 10.0f ? 1.0f : 1.0f / (1.0f + __expf(-g));
    out[(size_t)r * H + c] = __float2half(g * s * u);
}
