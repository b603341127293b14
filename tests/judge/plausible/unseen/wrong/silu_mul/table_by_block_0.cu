// grid: ceil(N*H/512)
// block: 512
// fault: order of blocks
// kinds: race wrong_result uninitialised_read
// Block 0 fills a table of silu of every half; the others look into it without knowing whether it has.

#include <cuda_fp16.h>

__device__ float table[65536];

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    if (blockIdx.x == 0) {
        for (int bits = threadIdx.x; bits < 65536; bits += 512) {
            const float g = __half2float(__ushort_as_half((unsigned short)bits));
            table[bits] = g / (1.0f + expf(-g));
        }
        __threadfence();
    }
    __syncthreads();
    const long long i = blockIdx.x * 512LL + threadIdx.x;
    if (i >= (long long)N * H) return;
    const long long row = i / H, column = i % H;
    const float gate = __ldcg(&table[__half_as_ushort(gate_up[row * 2 * H + column])]);
    out[i] = __float2half(gate * __half2float(gate_up[row * 2 * H + H + column]));
}
