// One block. It strides over all elements, needs one addition to the total, and every count of the lab becomes smaller.
// Instructions are few because each warp has a loop in place of its neighbours. 131 of 132 multiprocessors have nothing
// to do.
//
// block: 256
// grid: 1
// expect: too_many elements_of_a_thread

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
    float own = 0.0f;
    for (long long i = t; i < n; i += THREADS) own += x[i];
    const float of_warp = warp_sum(own);  // lanes beyond the end bring 0, and take part
    if (t % 32 == 0) warp_sums[t / 32] = of_warp;
    __syncthreads();

    if (t < 32) {  // a whole warp: all its lanes come to the shuffles
        const float of_block = warp_sum(t < WARPS ? warp_sums[t] : 0.0f);
        if (t == 0) atomicAdd(total, of_block);
    }
}
