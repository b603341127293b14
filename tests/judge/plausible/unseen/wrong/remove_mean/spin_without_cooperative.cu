// grid: ceil(n/256)
// block: 256
// fault: launch shape: grid barrier
// kinds: deadlock
// All blocks wait until all have arrived, in a grid that grows with n and is not cooperative.
__device__ float sum;
__device__ unsigned int arrived, left;

__global__ void remove_mean(const float* x, float* y, int n)
{
    __shared__ float s[8];
    const int i = blockIdx.x * 256 + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        v = 0;
        for (int w = 0; w < 8; ++w) v += s[w];
        atomicAdd(&sum, v);
        __threadfence();
        atomicAdd(&arrived, 1);
        while (atomicAdd(&arrived, 0) < gridDim.x) {}
        __threadfence();
        s[0] = atomicAdd(&sum, 0.0f) / n;
        __threadfence();
        if (atomicAdd(&left, 1) == gridDim.x - 1) {
            __threadfence();
            sum = 0;
            arrived = 0;
            left = 0;
        }
    }
    __syncthreads();
    if (i < n) y[i] = x[i] - s[0];
}
