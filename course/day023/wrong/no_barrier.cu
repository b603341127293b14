// No barrier. Shuffles need none, and from that it is a short way to thinking that the kernel needs none. The eight sums go
// through shared memory from warp to warp, and warps wait for each other only where they are told to.
//
// block: 256
// grid: ceil(n/256)
// expect: race

__device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffffu, value, offset);
    return value;
}

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float warp_sums[8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const float of_warp = warp_sum(i < n ? x[i] : 0.0f);
    if (t % 32 == 0) warp_sums[t / 32] = of_warp;  // <- here
    if (t < 32) {
        const float of_block = warp_sum(t < 8 ? warp_sums[t] : 0.0f);  // <- here
        if (t == 0) atomicAdd(total, of_block);
    }
}
