// fault: 0.5 g (1 + tanh(g / 2)) cancels for negative gates: 1 + tanh(-7) is 2 % off at g = -14, visible with up = 1000
// kinds: wrong_result
// grid: ceil(H/256) N
// block: 256
#include <cuda_fp16.h>
__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    int c = blockIdx.x * 256 + threadIdx.x, row = blockIdx.y;
    if (c >= H) return;
    float g = __half2float(gate_up[(size_t)row * 2 * H + c]), u = __half2float(gate_up[(size_t)row * 2 * H + H + c]);
    out[(size_t)row * H + c] = __float2half(0.5f * g * (1.0f + tanhf(0.5f * g)) * u);
}
