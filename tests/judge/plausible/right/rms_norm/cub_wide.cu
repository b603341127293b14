// grid: N
// block: 1000
// CUB's block sum over 1,000 threads.
#include <cub/cub.cuh>
#include <cuda_fp16.h>
extern "C" __global__ void __launch_bounds__(1000) rms_cub(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    typedef cub::BlockReduce<float, 1000> Reduce;
    __shared__ Reduce::TempStorage storage;
    __shared__ float scale;
    const size_t base = (size_t)blockIdx.x * W;
    float q = 0;
    for (int i = threadIdx.x; i < W; i += 1000) {
        const float v = __half2float(residual[base + i]) + __half2float(delta[base + i]);
        residual[base + i] = __float2half(v);
        q += v * v;
    }
    q = Reduce(storage).Sum(q);
    if (threadIdx.x == 0) scale = rsqrtf(q / W + eps);
    __syncthreads();
    for (int i = threadIdx.x; i < W; i += 1000) out[base + i] = __float2half(__half2float(residual[base + i]) * scale * __half2float(weight[i]));
}
