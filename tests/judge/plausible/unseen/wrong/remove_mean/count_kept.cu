// grid: SMS
// block: 256
// cooperative: yes
// fault: count never reset
// kinds: race
// The barrier's count is not set back: in the second launch it is above the grid at once, and nobody waits.
__device__ float partial[1024];
__device__ unsigned count;
__global__ void remove_mean(const float* x, float* y, int n)
{
    __shared__ float s[256];
    int t = threadIdx.x;
    float v = 0;
    for (int i = blockIdx.x * 256 + t; i < n; i += 256 * gridDim.x) v += x[i];
    s[t] = v;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (t < d) s[t] += s[t + d];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        atomicAdd(&count, 1);
        while (atomicAdd(&count, 0u) < gridDim.x) {}
        __threadfence();
        v = 0;
        for (int b = 0; b < gridDim.x; ++b) v += partial[b];
        s[0] = v / n;
    }
    __syncthreads();
    for (int i = blockIdx.x * 256 + t; i < n; i += 256 * gridDim.x) y[i] = x[i] - s[0];
}
