// grid: N
// block: 256
// shared: 4*W+32
// fault: what hardware refuses
// kinds: launch
// The row is kept in shared memory as floats: W = 70000 does not fit in any chip's.

#include <cuda_fp16.h>

__global__ void rms_norm(__half* residual, const __half* delta, const __half* weight, __half* out, int N, int W, float eps)
{
    extern __shared__ float shared[];
    float *part = shared, *row = shared + 8;
    const size_t start = (size_t)blockIdx.x * W;
    float sum = 0.0f;
    for (int i = threadIdx.x; i < W; i += 256) {
        const __half v = __hadd(residual[start + i], delta[start + i]);
        residual[start + i] = v;
        row[i] = __half2float(v);
        sum += row[i] * row[i];
    }
    for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    sum = 0.0f;
    for (int k = 0; k < 8; ++k) sum += part[k];
    const float scale = rsqrtf(sum / W + eps);
    for (int i = threadIdx.x; i < W; i += 256) out[start + i] = __float2half(row[i] * scale * __half2float(weight[i]));
}
