// grid: N
// block: 128
// fault: race
// kinds: out_of_bounds race
// A thread does elements i and i + 1 but compares only i with H: for odd H the last thread of a row writes over the first element of the next row, in a race with its block, and beyond the end of out in the last row (H = 301).

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const __half* gate = gate_up + (size_t)blockIdx.x * 2 * H;
    __half* mine = out + (size_t)blockIdx.x * H;
    for (int i = 2 * threadIdx.x; i < H; i += 256) {
        const float g0 = __half2float(gate[i]), g1 = __half2float(gate[i + 1]);
        mine[i] = __float2half(g0 / (1.0f + expf(-g0)) * __half2float(gate[H + i]));
        mine[i + 1] = __float2half(g1 / (1.0f + expf(-g1)) * __half2float(gate[H + i + 1]));
    }
}
