// grid: N
// block: 160
//
// CUB's block reduction, the scale handed round by shared memory, 160 threads.

#include <cub/block/block_reduce.cuh>
#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    using Reduce = cub::BlockReduce<float, 160>;
    __shared__ typename Reduce::TempStorage storage;
    __shared__ float scale;
    __half* r = residual + (size_t)blockIdx.x * W;
    const __half* d = delta + (size_t)blockIdx.x * W;
    auto each = [W](auto action) {
        for (int i = threadIdx.x; i < W; i += 160) action(i);
    };
    float squares = 0.0f;
    each([&](int i) {
        r[i] = __hadd(r[i], d[i]);
        const float v = __half2float(r[i]);
        squares = fmaf(v, v, squares);
    });
    const float sum = Reduce(storage).Sum(squares);
    if (threadIdx.x == 0) scale = 1.0f / sqrtf(sum / W + eps);
    __syncthreads();
    each([&](int i) { out[(size_t)blockIdx.x * W + i] = __float2half(__half2float(r[i]) * scale * __half2float(weight[i])); });
}
