// grid: ceil(H/256) N
// block: 256
// fault: values
// kinds: wrong_result
// The gate is held between -10 and 10 "for stability": large gates come out as 10.

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= H) return;
    const __half* row = gate_up + (size_t)blockIdx.y * 2 * H;
    const float g = fminf(fmaxf(__half2float(row[i]), -10.0f), 10.0f);
    out[(size_t)blockIdx.y * H + i] = __float2half(g / (1.0f + expf(-g)) * __half2float(row[H + i]));
}
