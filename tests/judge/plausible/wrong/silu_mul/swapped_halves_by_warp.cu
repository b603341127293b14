// grid: ceil(H/64) N
// block: 128
// fault: missing barrier
// kinds: race uninitialised_read wrong_result
// Warps 0 and 1 bring the gates, 2 and 3 the ups; all threads then go on without a barrier.
#include <cuda_fp16.h>
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    __shared__ float s[128];
    int t = threadIdx.x, c = blockIdx.x * 64 + t % 64;
    const __half* row = gate_up + (size_t)blockIdx.y * 2 * H;
    if (c < H) s[t] = __half2float(row[t < 64 ? c : H + c]);
    __syncwarp();
    if (t >= 64 && c < H) {
        float g = s[t - 64];
        out[(size_t)blockIdx.y * H + c] = __float2half(g / (1 + expf(-g)) * s[t]);
    }
}
