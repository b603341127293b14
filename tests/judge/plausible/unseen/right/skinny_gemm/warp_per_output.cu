// right: a warp for each output, 16-byte loads (rows are multiples of 64 bytes)
// grid: ceil(M*N/4)
// block: 128
#include <cuda_fp16.h>

__global__ void skinny_gemm(const __half* x, const __half* weight, const __half* bias, __half* y, int M, int N, int steps)
{
    const long long o = (long long)blockIdx.x * 4 + threadIdx.x / 32;
    const int lane = threadIdx.x % 32;
    if (o >= (long long)M * N) return;
    const uint4* a = (const uint4*)(x + o / N * 32 * steps);
    const uint4* b = (const uint4*)(weight + o % N * 32 * steps);
    float sum = 0;
    for (int k = lane; k < 4 * steps; k += 32) {
        const uint4 u = a[k], w = b[k];
        const __half2* uh = (const __half2*)&u;
        const __half2* wh = (const __half2*)&w;
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const float2 p = __half22float2(uh[e]), r = __half22float2(wh[e]);
            sum = fmaf(p.x, r.x, fmaf(p.y, r.y, sum));
        }
    }
    for (int d = 16; d; d >>= 1) sum += __shfl_down_sync(~0u, sum, d);
    if (lane == 0) y[o] = __float2half(sum + __half2float(bias[o % N]));
}
