// Each warp to the total. Five shuffles, one addition by lane 0, no shared memory and no barrier: it looks like all that there is
// to gain. The total now gets eight additions from each block, and those are what this kernel waits for.
//
// block: 256
// grid: ceil(n/256)
// expect: too_many atomics_each_block

__device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, offset);
    }
    return value;
}

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float of_warp = warp_sum(i < n ? x[i] : 0.0f);
    if (threadIdx.x % 32 == 0) atomicAdd(total, of_warp);  // <- here
}
