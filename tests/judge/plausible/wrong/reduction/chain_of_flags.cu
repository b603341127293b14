// grid: ceil(n/1024)
// block: 256
// fault: device variable
// kinds: wrong_result unrepeatable race deadlock
// Each block waits for the running sum of the block before; the flags stay set, so a second launch takes stale sums.
__device__ float running[1 << 19];
__device__ int ready[1 << 19];
__global__ void chained(const float* x, float* total, int n)
{
    __shared__ float w[8];
    int t = threadIdx.x;
    float v = 0;
    for (int k = 0; k < 4; ++k) {
        int i = blockIdx.x * 1024 + k * 256 + t;
        if (i < n) v += x[i];
    }
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (t % 32 == 0) w[t / 32] = v;
    __syncthreads();
    if (t) return;
    for (int k = 1; k < 8; ++k) v += w[k];
    if (blockIdx.x) {
        while (atomicAdd(&ready[blockIdx.x - 1], 0) == 0) {}
        __threadfence();
        v += *(volatile float*)&running[blockIdx.x - 1];
    }
    *(volatile float*)&running[blockIdx.x] = v;
    __threadfence();
    atomicExch(&ready[blockIdx.x], 1);
    if (blockIdx.x == gridDim.x - 1) *total += v;
}
