// grid: N
// block: 128
// fault: index type
// kinds: wrong_result race uninitialised_read out_of_bounds
// The row's beginning in out is an unsigned short: wrong above 65,536 elements.

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const unsigned short start = blockIdx.x * H;
    const __half* gate = gate_up + (size_t)blockIdx.x * 2 * H;
    for (int i = threadIdx.x; i < H; i += 128) {
        const float g = __half2float(gate[i]);
        out[start + i] = __float2half(__fdividef(g, 1.0f + __expf(-g)) * __half2float(gate[H + i]));
    }
}
