// grid: N, ceil(H/256)
// block: 256
// fault: masks that differ
// kinds: member_mask
// Each lane's mask names the upper half and itself: lanes of the lower half wait for upper ones that do not name them.

#include <cuda_fp16.h>
__global__ void silu_mul(const __half* gu, __half* out, int N, int H)
{
    __shared__ float s[256]; int t = threadIdx.x; long long c = blockIdx.y * 256ll + t, r = blockIdx.x;
    int p = t ^ 31; long long pc = blockIdx.y * 256ll + p;
    s[t] = c < H ? __half2float(gu[r * 2 * H + c]) : 0.f;
    __syncwarp(__activemask() & 0xffff0000u | 1u << (threadIdx.x & 31));
    float g = s[p];
    if (pc < H) { float u = __half2float(gu[r * 2 * H + H + pc]); out[r * H + pc] = __float2half(g / (1 + expf(-g)) * u); }
}
