// grid: N
// block: 256
// shared: 16*H
// fault: what hardware refuses
// kinds: launch
// A row of gates and ups is kept as floats, twice: H = 70000 asks for over a megabyte.

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    extern __shared__ float row[];
    for (int i = threadIdx.x; i < 2 * H; i += 256) row[i] = __half2float(gate_up[(size_t)blockIdx.x * 2 * H + i]);
    __syncthreads();
    for (int i = threadIdx.x; i < H; i += 256) row[2 * H + i] = row[i] / (1.0f + expf(-row[i])) * row[H + i];
    __syncthreads();
    for (int i = threadIdx.x; i < H; i += 256) out[(size_t)blockIdx.x * H + i] = __float2half(row[2 * H + i]);
}
