// One thread adds. The second level in a loop of thread 0, which is right and reads like any other code. Eight loads come one
// after the other, each with one lane, and seven warps wait in the meantime where one load and three shuffles would do.
//
// block: 256
// grid: ceil(n/256)
// expect: too_many shared_each_warp

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
    if (t == 0) {
        float of_block = 0.0f;
        for (int k = 0; k < 8; ++k) of_block += warp_sums[k];
        atomicAdd(total, of_block);
    }
}
