// grid: ceil(N*H/1024)
// block: 128
// Eight at a time where H % 8 == 0, else one by one; the exponential and the reciprocal are inline PTX, whose last bits are far below float16's.

#include <cuda_fp16.h>

__device__ __forceinline__ float silu(float g)
{
    float e, r;
    asm("ex2.approx.f32 %0, %1;" : "=f"(e) : "f"(g * -1.44269504f));
    asm("rcp.approx.f32 %0, %1;" : "=f"(r) : "f"(1.0f + e));
    return g * r;
}

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const unsigned all = (unsigned)N * H, first = (blockIdx.x * blockDim.x + threadIdx.x) * 8u;
    if (first >= all) return;
    if (H % 8 == 0) {
        const unsigned row = first / H, column = first % H;
        const uint4 g = *reinterpret_cast<const uint4*>(gate_up + (size_t)row * 2 * H + column);
        const uint4 u = *reinterpret_cast<const uint4*>(gate_up + (size_t)row * 2 * H + H + column);
        uint4 result;
        const __half2 *p = reinterpret_cast<const __half2*>(&g), *q = reinterpret_cast<const __half2*>(&u);
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            const float2 a = __half22float2(p[k]), b = __half22float2(q[k]);
            reinterpret_cast<__half2*>(&result)[k] = __floats2half2_rn(silu(a.x) * b.x, silu(a.y) * b.y);
        }
        *reinterpret_cast<uint4*>(out + first) = result;
        return;
    }
    for (unsigned i = first; i < all && i < first + 8; ++i) {
        const size_t at = (size_t)(i / H) * 2 * H + i % H;
        out[i] = __float2half(silu(__half2float(gate_up[at])) * __half2float(gate_up[at + H]));
    }
}
