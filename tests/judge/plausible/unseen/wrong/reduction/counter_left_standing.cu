// grid: ceil(n/256)
// block: 256
// fault: device state between launches
// kinds: wrong_result
// The block that counts as last adds everything up, and leaves the counter where it is: the second launch has no last block.

__device__ unsigned finished;
__device__ float sums[1 << 20];

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    __shared__ bool last;
    const int t = threadIdx.x;
    const long long i = (long long)blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int w = 128; w > 0; w >>= 1) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    if (t == 0) {
        sums[blockIdx.x] = s[0];
        __threadfence();
        last = atomicAdd(&finished, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float all = *total;
        for (unsigned b = 0; b < gridDim.x; ++b) all += ((volatile float*)sums)[b];
        *total = all;
    }
}
