// grid: SMS
// block: 128
//
// Rows are drawn from a queue, which the last block rewinds; a row of no length ends with continue.

#include <cuda_fp16.h>

__device__ int next_row, blocks_home;

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    __shared__ int drawn;
    while (true) {
        if (threadIdx.x == 0) drawn = atomicAdd(&next_row, 1);
        __syncthreads();
        const size_t row = drawn;
        __syncthreads();
        if (row >= N) break;
        if (threadIdx.x >= H) continue;
        const __half *gate = gate_up + row * 2 * H, *up = gate + H;
        for (int i = threadIdx.x; i < H; i += 128) {
            const float g = __half2float(gate[i]);
            out[row * H + i] = __float2half(g * (1.0f / (1.0f + expf(-g))) * __half2float(up[i]));
        }
    }
    if (threadIdx.x == 0) {
        __threadfence();
        if (atomicAdd(&blocks_home, 1) == gridDim.x - 1) {
            __threadfence();
            next_row = 0;
            blocks_home = 0;
        }
    }
}
