// grid: N
// block: 64
// Eight columns per thread by 16-byte cp.async where H allows it, single ones elsewhere.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
__device__ __half gated(__half g, __half u)
{
    const float x = __half2float(g);
    return __float2half(__fdividef(x, 1.0f + __expf(-fmaxf(x, -80.0f))) * __half2float(u));
}
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    __shared__ __align__(16) __half gates[2][512], ups[2][512];
    const __half* row = gate_up + (size_t)blockIdx.x * 2 * H;
    __half* to = out + (size_t)blockIdx.x * H;
    const int t = threadIdx.x;
    if (H % 8) {
        for (int c = t; c < H; c += 64) to[c] = gated(row[c], row[H + c]);
        return;
    }
    auto fetch = [&](int start, int slot) {
        const int c = start + 8 * t;
        if (c < H) {
            __pipeline_memcpy_async(&gates[slot][8 * t], row + c, 16);
            __pipeline_memcpy_async(&ups[slot][8 * t], row + H + c, 16);
        }
        __pipeline_commit();
    };
    fetch(0, 0);
    for (int start = 0, slot = 0; start < H; start += 512, slot ^= 1) {
        fetch(start + 512, slot ^ 1);
        __pipeline_wait_prior(1);
        for (int k = 0; k < 8 && start + 8 * t < H; ++k)
            to[start + 8 * t + k] = gated(gates[slot][8 * t + k], ups[slot][8 * t + k]);
    }
}
