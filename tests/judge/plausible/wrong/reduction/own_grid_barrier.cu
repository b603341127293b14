// grid: ceil(n/128)
// block: 128
// fault: grid barrier
// kinds: deadlock timeout race launch
// Blocks wait for all others by spinning, in a launch that is not cooperative: hangs once they do not fit the chip together.
__device__ float partial[1 << 22];
__device__ unsigned here, generation;
__global__ void two_phase(const float* x, float* total, int n)
{
    __shared__ float s[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int k = 64; k; k /= 2) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        unsigned mine = *(volatile unsigned*)&generation;
        __threadfence();
        if (atomicInc(&here, gridDim.x - 1) == gridDim.x - 1)
            atomicAdd(&generation, 1);
        else
            while (*(volatile unsigned*)&generation == mine) {}
        __threadfence();
    }
    __syncthreads();
    if (blockIdx.x == 0 && t == 0) {
        float all = 0;
        for (unsigned b = 0; b < gridDim.x; ++b) all += *(volatile float*)&partial[b];
        *total += all;
    }
}
