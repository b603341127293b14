// grid: ceil(N*H/128)
// block: 128
// fault: index type
// kinds: out_of_bounds wrong_result misaligned
// Offsets in bytes are shorts: beyond 32,767 bytes of gates and ups they are negative.
#include <cuda_fp16.h>
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i >= N * H) return;
    short at = 2 * (i / H * 2 * H + i % H), up = at + 2 * H;
    const char* base = (const char*)gate_up;
    float g = __half2float(*(const __half*)(base + at));
    out[i] = __float2half(g / (1 + expf(-g)) * __half2float(*(const __half*)(base + up)));
}
