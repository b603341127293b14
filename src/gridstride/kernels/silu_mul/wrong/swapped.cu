// Swapped: silu of what is let through, times the gate.
//
// entry: silu_mul_swapped
// block: 128
// grid: ceil(H/128) N
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void silu_mul_swapped(const __half* gate_up, __half* out, int N, int H)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= H) return;
    const float up = __half2float(gate_up[2 * row * H + column]);
    const float gate = __half2float(gate_up[2 * row * H + H + column]);
    out[row * H + column] = __float2half(gate / (1.0f + __expf(-gate)) * up);
}
