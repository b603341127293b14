// Unguarded tail: the last block of a row reads and writes past it.
//
// entry: silu_mul_unguarded_tail
// block: 128
// grid: ceil(H/128) N
// expect: out_of_bounds

#include <cuda_fp16.h>

extern "C" __global__ void silu_mul_unguarded_tail(const __half* gate_up, __half* out, int N, int H)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    const float gate = __half2float(gate_up[2 * row * H + column]);
    const float up = __half2float(gate_up[2 * row * H + H + column]);  // <- here
    out[row * H + column] = __float2half(gate / (1.0f + __expf(-gate)) * up);  // <- here
}
