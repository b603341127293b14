// grid: SMS*2
// block: 96
//
// Grid-stride over pairs where rows allow it, over single halves elsewhere; negative gates by the other formula.

#include <cuda_fp16.h>

__device__ float silu(float g)
{
    const float e = expf(-fabsf(g));
    if (g <= -INFINITY) return NAN;
    return g >= 0.0f ? g / (1.0f + e) : g * e / (1.0f + e);
}

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const long long step = (long long)gridDim.x * 96, first = blockIdx.x * 96LL + threadIdx.x;
    if (H % 2 == 0) {
        const int pairs = H / 2;
        const __half2* from = reinterpret_cast<const __half2*>(gate_up);
        __half2* to = reinterpret_cast<__half2*>(out);
        for (long long i = first; i < (long long)N * pairs; i += step) {
            const long long row = i / pairs, c = i % pairs;
            const float2 g = __half22float2(from[row * H + c]), u = __half22float2(from[row * H + pairs + c]);
            to[i] = __floats2half2_rn(silu(g.x) * u.x, silu(g.y) * u.y);
        }
        return;
    }
    for (long long i = first; i < (long long)N * H; i += step) {
        const long long row = i / H, c = i % H;
        out[i] = __float2half(silu(__half2float(gate_up[row * 2 * H + c])) * __half2float(gate_up[row * 2 * H + H + c]));
    }
}
