// grid: ceil(H/256) min(N,65535)
// block: 256
// fault: overflow of exp, half arithmetic
// kinds: wrong_result
// All in half: exp(-g) is infinite for g < -11.1, and SiLU 0 there.
#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const int h = blockIdx.x * 256 + threadIdx.x;
    if (h >= H) return;
    for (int n = blockIdx.y; n < N; n += gridDim.y) {
        const __half g = gate_up[(size_t)n * 2 * H + h], u = gate_up[(size_t)n * 2 * H + H + h];
        out[(size_t)n * H + h] = __hmul(__hdiv(g, __hadd(__float2half(1.0f), hexp(__hneg(g)))), u);
    }
}
