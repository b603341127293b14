// grid: ceil(H/32) N
// block: 64
// fault: member mask
// kinds: member_mask wrong_result inactive_lane
// Lanes without a column have left before a shuffle that names the whole warp: H not a multiple of 32.
#include <cuda_fp16.h>
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    int lane = threadIdx.x % 32, part = threadIdx.x / 32, c = blockIdx.x * 32 + part * 16 + lane % 16;
    if (c >= H) return;
    const __half* row = gate_up + (size_t)blockIdx.y * 2 * H;
    float mine = __half2float(lane < 16 ? row[c] : row[H + c]);
    float other = __shfl_xor_sync(0xffffffffu, mine, 16);
    if (lane < 16) out[(size_t)blockIdx.y * H + c] = __float2half(mine / (1 + expf(-mine)) * other);
}
