// Tree below. Warps add up in registers, and the eight sums then meet in the tree that one knows, with a barrier in each round.
// It is right. But eight words are less than a warp has lanes: the first warp can do it alone, and waits for nobody.
//
// block: 256
// grid: ceil(n/256)
// expect: too_many barriers

__device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    return value;
}

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float warp_sums[8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const float of_warp = warp_sum(i < n ? x[i] : 0.0f);
    if (t % 32 == 0) warp_sums[t / 32] = of_warp;
    __syncthreads();
    for (int s = 4; s > 0; s /= 2) {
        if (t < s) warp_sums[t] += warp_sums[t + s];
        __syncthreads();  // <- here
    }
    if (t == 0) atomicAdd(total, warp_sums[0]);
}
