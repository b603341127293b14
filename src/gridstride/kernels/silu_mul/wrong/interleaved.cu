// Interleaved: gate and up are taken from neighbouring elements, as if they alternated.
//
// entry: silu_mul_interleaved
// block: 128
// grid: ceil(H/128) N
// expect: wrong_result

#include <cuda_fp16.h>

extern "C" __global__ void silu_mul_interleaved(const __half* gate_up, __half* out, int N, int H)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= H) return;
    const float gate = __half2float(gate_up[2 * (row * H + column)]);
    const float up = __half2float(gate_up[2 * (row * H + column) + 1]);
    out[row * H + column] = __float2half(gate / (1.0f + __expf(-gate)) * up);
}
