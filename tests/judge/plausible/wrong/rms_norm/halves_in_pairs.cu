// grid: N
// block: 128
// fault: overflow
// kinds: wrong_result
// Rows read in pairs add up their squares in half precision.
#include <cuda_fp16.h>
template <int V>
__device__ void row(__half* residual, const __half* delta, const __half* weight, __half* out, int W, float eps)
{
    __shared__ float s[4];
    float sum = 0;
    const int t = threadIdx.x;
    for (int i = t * V; i < W; i += 128 * V) {
        if (V == 2) {
            const __half2 h = __hadd2(*(__half2*)(residual + i), *(const __half2*)(delta + i)), q = __hmul2(h, h);
            *(__half2*)(residual + i) = h;
            sum += __low2float(q) + __high2float(q);
        } else
            for (int j = 0; j < V; j++) {
                const __half h = __hadd(residual[i + j], delta[i + j]);
                residual[i + j] = h;
                sum += __half2float(h) * __half2float(h);
            }
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if ((t & 31) == 0) s[t >> 5] = sum;
    __syncthreads();
    const float r = rsqrtf((s[0] + s[1] + s[2] + s[3]) / W + eps);
    for (int i = t * V; i < W; i += 128 * V)
        for (int j = 0; j < V; j++) out[i + j] = __float2half(__half2float(residual[i + j]) * r * __half2float(weight[i + j]));
}
__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    const size_t o = (size_t)blockIdx.x * W;
    int V = 8;
    while (W & (V - 1)) V >>= 1;
    if (V == 8) row<8>(residual + o, delta + o, weight, out + o, W, eps);
    else if (V == 4) row<4>(residual + o, delta + o, weight, out + o, W, eps);
    else if (V == 2) row<2>(residual + o, delta + o, weight, out + o, W, eps);
    else row<1>(residual + o, delta + o, weight, out + o, W, eps);
}
