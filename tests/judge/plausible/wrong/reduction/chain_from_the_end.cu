// grid: ceil(n/256)
// block: 128
// fault: block order
// kinds: deadlock timeout race
// Each block waits for the one behind it, which need not have begun: hangs once there are more blocks than fit the chip.
__device__ float running[1 << 21];
__device__ unsigned ready[1 << 21];
__global__ void chain(const float* x, float* total, int n)
{
    __shared__ float w[4];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    float v = (i < n ? x[i] : 0) + (i + 128 < n ? x[i + 128] : 0);
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (t % 32 == 0) w[t / 32] = v;
    __syncthreads();
    if (t) return;
    v = w[0] + w[1] + w[2] + w[3];
    if (blockIdx.x + 1 < gridDim.x) {
        while (atomicCAS(&ready[blockIdx.x + 1], 1u, 0u) == 0) {}
        __threadfence();
        v += *(volatile float*)&running[blockIdx.x + 1];
    }
    if (blockIdx.x == 0) {
        *total += v;
        return;
    }
    *(volatile float*)&running[blockIdx.x] = v;
    __threadfence();
    atomicExch(&ready[blockIdx.x], 1u);
}
