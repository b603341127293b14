// grid: SMS
// block: 256
// cooperative: yes
// fault: barrier reset late
// kinds: deadlock timeout
// The last block opens the barrier and sets the count back afterwards: a block that has gone on may have arrived
// at the next barrier by then, and its arrival is wiped out: all wait for ever.
__device__ float partial[1024];
__device__ unsigned count, generation;
__device__ void everybody()
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned g = atomicAdd(&generation, 0u);
        __threadfence();
        if (atomicAdd(&count, 1) == gridDim.x - 1) {
            __threadfence();
            atomicAdd(&generation, 1);
            atomicExch(&count, 0u);
        } else
            while (atomicAdd(&generation, 0u) == g) {}
        __threadfence();
    }
    __syncthreads();
}
__device__ float block_sum(float v)
{
    __shared__ float s[256];
    s[threadIdx.x] = v;
    __syncthreads();
    for (int d = 128; d; d >>= 1) {
        if (threadIdx.x < d) s[threadIdx.x] += s[threadIdx.x + d];
        __syncthreads();
    }
    v = s[0];
    __syncthreads();
    return v;
}
__device__ float grid_sum(float v)
{
    v = block_sum(v);
    if (threadIdx.x == 0) partial[blockIdx.x] = v;
    everybody();
    v = 0;
    for (int b = threadIdx.x; b < gridDim.x; b += 256) v += partial[b];
    v = block_sum(v);
    everybody();
    return v;
}
__global__ void remove_mean(const float* x, float* y, int n)
{
    float v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) v += x[i];
    float mean = grid_sum(v) / n;
    v = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) v += x[i] - mean;
    float rest = grid_sum(v) / n;
    if (!isfinite(rest)) rest = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += 256 * gridDim.x) y[i] = x[i] - (mean + rest);
}
