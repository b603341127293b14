// grid: N
// block: 64
// fault: tail of 8
// kinds: misaligned
// Tests W % 4 and then reads eight halves at once: W = 4, 12, 20 ... puts odd rows at 8 bytes.
#include <cuda_fp16.h>
__global__ void rms8(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    __shared__ float s[2];
    size_t row = (size_t)blockIdx.x * W;
    float q = 0;
    int wide = W % 4 == 0 ? W / 8 : 0;
    auto one = [&](int i) {
        float v = __half2float(residual[row + i]) + __half2float(delta[row + i]);
        residual[row + i] = __float2half(v);
        q += v * v;
    };
    for (int v = threadIdx.x; v < wide; v += 64) {
        uint4 d = *(const uint4*)(delta + row + 8 * v);
        for (int k = 0; k < 8; ++k) {
            float x = __half2float(residual[row + 8 * v + k]) + __half2float(((__half*)&d)[k]);
            residual[row + 8 * v + k] = __float2half(x);
            q += x * x;
        }
    }
    for (int i = 8 * wide + threadIdx.x; i < W; i += 64) one(i);
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = q;
    __syncthreads();
    float scale = rsqrtf((s[0] + s[1]) / W + eps);
    for (int i = threadIdx.x; i < W; i += 64) out[row + i] = __float2half(__half2float(residual[row + i]) * scale * __half2float(weight[i]));
}
