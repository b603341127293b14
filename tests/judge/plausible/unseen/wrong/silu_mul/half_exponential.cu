// grid: ceil(N*H/128)
// block: 128
// fault: wrong formula
// kinds: wrong_result
// Exp(-g) in float16 is infinite for g < -11.1, and silu 0 there rather than up to -1.7e-4, which counts once it is multiplied with a large up; and float16's exp and sums are less exact than the tolerance of 2 terms allows.

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= N * H) return;
    const __half* p = gate_up + (size_t)(i / H) * 2 * H + i % H;
    const __half one = __float2half(1.0f), g = p[0], u = p[H];
    out[i] = __hmul(__hdiv(g, __hadd(one, hexp(__hneg(g)))), u);
}
