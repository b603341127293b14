// 03 shuffle: the lanes of a warp hand their sums to each other through registers.
//
// Moves: barriers per block, from 9 to 1, and shared accesses, from three per thread and round to one per warp.
// Mapping: thread t of block b -> element b * 256 + t. Five shuffles add up a warp; lane 0 puts the warp's sum in
//   shared memory; the first warp adds up the 8 sums.
//
// entry: sum_shuffle
// block: 256
// grid: ceil(n/256)

constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;
constexpr unsigned int ALL_LANES = 0xffffffffu;

__device__ __forceinline__ float warp_sum(float value)
{
    for (int offset = 16; offset > 0; offset /= 2) value += __shfl_down_sync(ALL_LANES, value, offset);
    return value;  // complete in lane 0
}

extern "C" __global__ void __launch_bounds__(THREADS) sum_shuffle(const float* x, float* total, int n)
{
    __shared__ float warp_sums[WARPS];

    const int t = threadIdx.x;
    const int i = blockIdx.x * THREADS + t;
    const float sum = warp_sum(i < n ? x[i] : 0.0f);
    if (t % 32 == 0) warp_sums[t / 32] = sum;
    __syncthreads();

    if (t < 32) {
        const float block_sum = warp_sum(t < WARPS ? warp_sums[t] : 0.0f);
        if (t == 0) atomicAdd(total, block_sum);
    }
}
