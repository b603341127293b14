// grid: ceil(H/64) N
// block: 64
// fault: values
// kinds: wrong_result
// The exponential is taken in half: e^-g is infinite there below -11.1, where silu is still a number, and loses digits elsewhere.

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const int i = blockIdx.x * 64 + threadIdx.x;
    if (i >= H) return;
    const __half* row = gate_up + (size_t)blockIdx.y * 2 * H;
    const __half g = row[i], one = __float2half(1.0f);
    const __half s = __hdiv(g, __hadd(one, hexp(__hneg(g))));
    out[(size_t)blockIdx.y * H + i] = __hmul(s, row[H + i]);
}
