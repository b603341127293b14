// grid: 4*SMS
// block: 128
// The exponential as ex2.approx in PTX, grid-stride.
#include <cuda_fp16.h>
__global__ void silu(const __half* gate_up, __half* out, int N, int H)
{
    const unsigned long long all = (unsigned long long)N * H;
    for (unsigned long long i = blockIdx.x * 128ull + threadIdx.x; i < all; i += gridDim.x * 128ull) {
        const __half* at = gate_up + i / H * 2 * H + i % H;
        const float g = __half2float(at[0]);
        float e, d;
        asm("ex2.approx.f32 %0, %1;" : "=f"(e) : "f"(g * -1.4426950408889634f));
        asm("div.rn.f32 %0, %1, %2;" : "=f"(d) : "f"(g), "f"(1.0f + e));
        out[i] = __float2half(d * __half2float(at[H]));
    }
}
