// grid: min(ceil(n/128)+1,SMS)
// block: 128
// cooperative: yes
// fault: missing barrier
// kinds: wrong_result
// A grid's barrier of atomics, at which thread 0 arrives without a __syncthreads(): other warps may not have added yet.

__device__ double sum; __device__ unsigned here, gone;
__global__ void remove_mean(const float* x, float* y, int n) {
    const int t = threadIdx.x;
    double v = 0;
    for (long long i = blockIdx.x * 128ll + t; i < n; i += gridDim.x * 128ll) v += x[i];
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (t % 32 == 0) { atomicAdd(&sum, v); __threadfence(); }
    if (t == 0) {
        atomicAdd(&here, 1u);
        while (*(volatile unsigned*)&here < gridDim.x) {}
        __threadfence();
    }
    __syncthreads();
    const float mean = (float)(*(volatile double*)&sum / n);
    for (long long i = blockIdx.x * 128ll + t; i < n; i += gridDim.x * 128ll) y[i] = x[i] - mean;
    __syncthreads();
    if (t == 0 && atomicAdd(&gone, 1u) == gridDim.x - 1) { sum = 0; here = 0; gone = 0; }
}
