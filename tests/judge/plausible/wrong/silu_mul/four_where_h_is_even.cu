// grid: ceil(H/512) N
// block: 128
// fault: tail of 4
// kinds: misaligned
// Asks for an even H and reads four ups at a time: with H % 4 == 2 they begin at four bytes.
#include <cuda_fp16.h>
__global__ void silu4(const __half* gate_up, __half* out, int N, int H)
{
    int c = 4 * (blockIdx.x * 128 + threadIdx.x), r = blockIdx.y;
    const __half *g = gate_up + (size_t)2 * r * H, *u = g + H;
    auto f = [](float x, float y) { return __float2half(x / (1 + __expf(-x)) * y); };
    if (H % 2 == 0 && c + 4 <= H) {
        uint2 b = *(const uint2*)(u + c);
        for (int k = 0; k < 4; ++k) out[(size_t)r * H + c + k] = f(__half2float(g[c + k]), __half2float(((__half*)&b)[k]));
    } else
        for (int k = c; k < min(c + 4, H); ++k) out[(size_t)r * H + k] = f(__half2float(g[k]), __half2float(u[k]));
}
