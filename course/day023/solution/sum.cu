// total += x[0] + … + x[n - 1], each warp in registers, one addition to the total for each block.
//
// block: 256
// grid: ceil(n/256)

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr unsigned int ALL_LANES = 0xffffffffu;

__device__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(ALL_LANES, value, offset);
    return value;  // the whole sum in lane 0, parts of it in the others
}

extern "C" __global__ void sum(const float* x, float* total, int n)
{
    __shared__ float warp_sums[WARPS];

    const int t = threadIdx.x;
    const int i = blockIdx.x * THREADS + t;
    const float of_warp = warp_sum(i < n ? x[i] : 0.0f);  // lanes beyond the end bring 0, and take part
    if (t % 32 == 0) warp_sums[t / 32] = of_warp;
    __syncthreads();

    if (t < 32) {  // a whole warp: all its lanes come to the shuffles
        const float of_block = warp_sum(t < WARPS ? warp_sums[t] : 0.0f);
        if (t == 0) atomicAdd(total, of_block);
    }
}
