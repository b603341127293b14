// 02 pairs: two neighbouring results per thread, 4 bytes a load.
//
// Moves: memory instructions for the same bytes, to 1/2.
// Mapping: thread t of block (x, y) -> elements 2 (x * 128 + t) and the next of row y; with an odd H one by one.
//
// entry: silu_mul_pairs
// block: 128
// grid: ceil(H/256) N

#include <cuda_fp16.h>

__device__ __forceinline__ float gated(float gate, float up)
{
    return gate / (1.0f + __expf(-gate)) * up;
}

extern "C" __global__ void silu_mul_pairs(const __half* __restrict__ gate_up, __half* __restrict__ out, int N, int H)
{
    const int column = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    const __half* gate = gate_up + 2ll * blockIdx.y * H + column;
    __half* to = out + (long long)blockIdx.y * H + column;
    if (H % 2 == 0 && column < H) {
        const float2 g = __half22float2(*reinterpret_cast<const __half2*>(gate));
        const float2 u = __half22float2(*reinterpret_cast<const __half2*>(gate + H));
        *reinterpret_cast<__half2*>(to) = __floats2half2_rn(gated(g.x, u.x), gated(g.y, u.y));
    } else {
        for (int e = 0; e < 2 && column + e < H; ++e)
            to[e] = __float2half(gated(__half2float(gate[e]), __half2float(gate[H + e])));
    }
}
