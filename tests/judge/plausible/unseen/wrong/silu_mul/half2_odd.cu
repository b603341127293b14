// grid: ceil(H/512) min(N,65535)
// block: 256
// fault: half2 with odd H
// kinds: misaligned
// Gates begin at whole pairs in every row, the other half of the row only where H is even.
#include <cuda_fp16.h>
__global__ void silu_mul(const __half* gate_up, __half* out, int N, int H)
{
    int c = (blockIdx.x * 256 + threadIdx.x) * 2;
    for (int r = blockIdx.y; r < N; r += gridDim.y) {
        const __half* row = gate_up + (size_t)r * 2 * H;
        if (c + 1 < H) {
            float2 g = __half22float2(*(const __half2*)(row + c)), u = __half22float2(*(const __half2*)(row + H + c));
            __half* o = out + (size_t)r * H + c;
            o[0] = __float2half(g.x / (1 + expf(-g.x)) * u.x);
            o[1] = __float2half(g.y / (1 + expf(-g.y)) * u.y);
        } else if (c < H) {
            float g = __half2float(row[c]);
            out[(size_t)r * H + c] = __float2half(g / (1 + expf(-g)) * __half2float(row[H + c]));
        }
    }
}
