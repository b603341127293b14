// grid: N
// block: 256
// fault: alignment
// kinds: misaligned
// Pairs of gates are always aligned, pairs of ups begin at H: for odd H every __half2 load of up is misaligned (H = 301).

#include <cuda_fp16.h>

__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    const __half* gate = gate_up + (size_t)blockIdx.x * 2 * H;
    const __half* up = gate + H;
    auto silu = [](float g) { return g / (1.0f + expf(-g)); };
    for (int i = 2 * threadIdx.x; i < H; i += 512) {
        if (i + 1 < H) {
            const float2 g = __half22float2(*reinterpret_cast<const __half2*>(gate + i));
            const float2 u = __half22float2(*reinterpret_cast<const __half2*>(up + i));
            out[(size_t)blockIdx.x * H + i] = __float2half(silu(g.x) * u.x);
            out[(size_t)blockIdx.x * H + i + 1] = __float2half(silu(g.y) * u.y);
        } else {
            out[(size_t)blockIdx.x * H + i] = __float2half(silu(__half2float(gate[i])) * __half2float(up[i]));
        }
    }
}
