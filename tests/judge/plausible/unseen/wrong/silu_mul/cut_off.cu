// grid: ceil(H/32) ceil(N/8)
// block: 32 8
// fault: wrong formula
// kinds: wrong_result
// Gates below -10 count as 0, where silu(-10) is -4.5e-4, which float16 holds well: wrong for gates between -20 and -10 (steep gates).

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const int column = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (column >= H || row >= N) return;
    const float g = __half2float(gate_up[(size_t)row * 2 * H + column]), u = __half2float(gate_up[(size_t)row * 2 * H + H + column]);
    float s = 0.0f;
    if (g > 20.0f) s = g;
    else if (g != g) s = g;
    else if (g > -10.0f) s = g / (1.0f + expf(-g));
    out[(size_t)row * H + column] = __float2half(s * u);
}
