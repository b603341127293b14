// grid: N
// block: 256
// fault: in place
// kinds: wrong_result
// Sums stay in registers for four columns a thread; those beyond are worked out again, from a residual that has delta in it: W above 1,024.

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float part[8];
    const size_t row = (size_t)blockIdx.x * W;
    __half held[4];
    float squares = 0.0f;
    for (int i = threadIdx.x, k = 0; i < W; i += 256, ++k) {
        const __half v = __hadd(residual[row + i], delta[row + i]);
        residual[row + i] = v;
        if (k == 0) held[0] = v;
        if (k == 1) held[1] = v;
        if (k == 2) held[2] = v;
        if (k == 3) held[3] = v;
        squares += __half2float(v) * __half2float(v);
    }
    for (int o = 16; o; o >>= 1) squares += __shfl_xor_sync(~0u, squares, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = squares;
    __syncthreads();
    squares = 0.0f;
    for (int w = 0; w < 8; ++w) squares += part[w];
    const float scale = rsqrtf(squares / W + eps);
    for (int i = threadIdx.x, k = 0; i < W; i += 256, ++k) {
        const __half v = k == 0 ? held[0] : k == 1 ? held[1] : k == 2 ? held[2] : k == 3 ? held[3] : __hadd(residual[row + i], delta[row + i]);
        out[row + i] = __float2half(__half2float(v) * scale * __half2float(weight[i]));
    }
}
