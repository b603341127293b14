// 01 element: one thread per result.
//
// Moves: nothing yet. Two 16-bit loads and one store per thread; the exponential is free beside them.
// Mapping: thread t of block (x, y) -> element x * 128 + t of row y.
//
// entry: silu_mul_element
// block: 128
// grid: ceil(H/128) N

#include <cuda_fp16.h>

extern "C" __global__ void silu_mul_element(const __half* gate_up, __half* out, int N, int H)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y;
    if (column >= H) return;
    const float gate = __half2float(gate_up[2 * row * H + column]);
    const float up = __half2float(gate_up[2 * row * H + H + column]);
    out[row * H + column] = __float2half(gate / (1.0f + __expf(-gate)) * up);
}
