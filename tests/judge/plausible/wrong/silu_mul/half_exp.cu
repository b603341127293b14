// grid: ceil(N*H/256)
// block: 256
// fault: precision
// kinds: wrong_result
// All in half: e^-g is infinite for gates below -11, and rounded to 11 bits elsewhere.
#include <cuda_fp16.h>
__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= N * H) return;
    size_t at = (size_t)(i / H) * 2 * H + i % H;
    __half g = gate_up[at], one = __float2half(1.0f);
    out[i] = __hmul(__hdiv(g, __hadd(one, hexp(__hneg(g)))), gate_up[at + H]);
}
