// grid: N
// block: 128
// Sixteen bytes at a time where W is a multiple of 8, single halves elsewhere.
#include <cuda_fp16.h>
struct alignas(16) Eight { __half v[8]; };
struct One { __half v[1]; };
template <class Pack, int SIZE>
__device__ void row(__half* residual, const __half* delta, const __half* weight, __half* out, int W, float eps)
{
    __shared__ float sums[4];
    float q = 0;
    for (int p = threadIdx.x; p < W / SIZE; p += 128) {
        Pack r = reinterpret_cast<Pack*>(residual)[p];
        const Pack d = reinterpret_cast<const Pack*>(delta)[p];
        for (int k = 0; k < SIZE; ++k) {
            const float v = __half2float(r.v[k]) + __half2float(d.v[k]);
            r.v[k] = __float2half(v);
            q += v * v;
        }
        reinterpret_cast<Pack*>(residual)[p] = r;
    }
    for (int k = 16; k; k >>= 1) q += __shfl_xor_sync(~0u, q, k);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = q;
    __syncthreads();
    const float scale = rsqrtf((sums[0] + sums[1] + sums[2] + sums[3]) / W + eps);
    for (int p = threadIdx.x; p < W / SIZE; p += 128) {
        Pack r = reinterpret_cast<Pack*>(residual)[p];
        const Pack w = reinterpret_cast<const Pack*>(weight)[p];
        for (int k = 0; k < SIZE; ++k) r.v[k] = __float2half(__half2float(r.v[k]) * scale * __half2float(w.v[k]));
        reinterpret_cast<Pack*>(out)[p] = r;
    }
}
extern "C" __global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    const size_t base = (size_t)blockIdx.x * W;
    if (W % 8 == 0) row<Eight, 8>(residual + base, delta + base, weight, out + base, W, eps);
    else row<One, 1>(residual + base, delta + base, weight, out + base, W, eps);
}
