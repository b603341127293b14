// grid: ceil(n/256)
// block: 256
// fault: device variable
// kinds: wrong_result unrepeatable
// "The last block done" is told by a counter that is never set back: no block is the last in the second launch.
__device__ float sums[1 << 20];
__device__ unsigned arrived;
__global__ void reduce(const float* x, float* total, int n)
{
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float v = i < n ? x[i] : 0.f;
    __shared__ float w[8];
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (t % 32 == 0) w[t / 32] = v;
    __syncthreads();
    if (t == 0) {
        float b = 0;
        for (int k = 0; k < 8; ++k) b += w[k];
        sums[blockIdx.x] = b;
        __threadfence();
        if (atomicAdd(&arrived, 1) + 1 == gridDim.x) {
            __threadfence();
            float all = *total;
            for (unsigned k = 0; k < gridDim.x; ++k) all += *(volatile float*)&sums[k];
            *total = all;
        }
    }
}
