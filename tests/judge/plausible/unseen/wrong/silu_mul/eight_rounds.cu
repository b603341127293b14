// grid: N
// block: 256
// fault: fixed count
// kinds: wrong_result uninitialised_read
// Eight rounds of 256 columns, unrolled: columns from 2,048 on are never written.

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const __half* row = gate_up + (size_t)blockIdx.x * 2 * H;
#pragma unroll
    for (int round = 0; round < 8; ++round) {
        const int i = round * 256 + threadIdx.x;
        if (i < H) {
            const float g = __half2float(row[i]);
            out[(size_t)blockIdx.x * H + i] = __float2half(g / (1.0f + expf(-g)) * __half2float(row[H + i]));
        }
    }
}
