// grid: N
// block: 192
// A template for vectors of eight halves and for single ones, chosen by W % 8; six warps; double sums; launch bounds.

#include <cuda_fp16.h>

template <int Width> struct alignas(2 * Width) Pack { __half h[Width]; };

template <int Width>
__device__ __forceinline__ void row(__half* residual, const __half* delta, const __half* weight, __half* out, int W, float eps)
{
    using P = Pack<Width>;
    __shared__ double sums[6];
    double sum = 0.0;
    for (int i = threadIdx.x; i < W / Width; i += 192) {
        P p = reinterpret_cast<P*>(residual)[i];
        const P q = reinterpret_cast<const P*>(delta)[i];
#pragma unroll
        for (int k = 0; k < Width; ++k) {
            p.h[k] = __float2half(__half2float(p.h[k]) + __half2float(q.h[k]));
            const float v = __half2float(p.h[k]);
            sum += (double)v * v;
        }
        reinterpret_cast<P*>(residual)[i] = p;
    }
    for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5];
    const float scale = (float)(1.0 / sqrt(sum / W + (double)eps));
    for (int i = threadIdx.x; i < W / Width; i += 192) {
        P p = reinterpret_cast<P*>(residual)[i];
        const P q = reinterpret_cast<const P*>(weight)[i];
#pragma unroll
        for (int k = 0; k < Width; ++k) p.h[k] = __float2half(__half2float(p.h[k]) * scale * __half2float(q.h[k]));
        reinterpret_cast<P*>(out)[i] = p;
    }
}

__global__ void __launch_bounds__(192, 2) rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    const size_t at = (size_t)blockIdx.x * W;
    if (W % 8 == 0) row<8>(residual + at, delta + at, weight, out + at, W, eps);
    else row<1>(residual + at, delta + at, weight, out + at, W, eps);
}
