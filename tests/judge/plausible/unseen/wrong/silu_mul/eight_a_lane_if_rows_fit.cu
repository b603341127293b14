// grid: ceil(H/256) N
// block: 32
// fault: alignment of some rows
// kinds: misaligned
// Sixteen bytes at a time where 2 H is a multiple of eight: with H = 4 k the gates of every row fit, up and out do not.

#include <cuda_fp16.h>

__device__ __half gated(__half g, __half u)
{
    const float x = __half2float(g);
    return __float2half(x / (1.0f + expf(-x)) * __half2float(u));
}

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const int i = 8 * (blockIdx.x * 32 + threadIdx.x);
    const size_t row = blockIdx.y;
    if (i >= H) return;
    const __half *gate = gate_up + row * 2 * H, *up = gate + H;
    __half* to = out + row * H;
    if (2 * H % 8 == 0 && i + 8 <= H) {
        uint4 g = *(const uint4*)(gate + i), u = *(const uint4*)(up + i), o;
        for (int k = 0; k < 8; ++k) ((__half*)&o)[k] = gated(((__half*)&g)[k], ((__half*)&u)[k]);
        *(uint4*)(to + i) = o;
    } else {
        for (int k = i; k < min(i + 8, H); ++k) to[k] = gated(gate[k], up[k]);
    }
}
