// 03 warp bins: every warp counts in bins of its own, and a grid sized to the GPU hands few of them on.
//
// Moves: atomics in global memory, from n / 16 to 256 for each of 4 blocks on a multiprocessor; warps that want one
//   word of shared memory, from 8 to 1. Lanes of a warp that want different words of one bank wait as before.
// Mapping: thread g of G in the grid -> elements g, g + G, g + 2G ...; warp w -> bins w * 256 ... + 255; at the end
//   thread t -> bin t of all warps.
//
// entry: histogram_warp_bins
// block: 256
// grid: min(ceil(n/4096), 4*SMS)

constexpr int BINS = 256;
constexpr int THREADS = 256;
constexpr int WARPS = THREADS / 32;

extern "C" __global__ void __launch_bounds__(THREADS)
histogram_warp_bins(const float* __restrict__ x, int* counts, int n)
{
    __shared__ int bins[WARPS][BINS];

    const int t = threadIdx.x;
    for (int w = 0; w < WARPS; ++w) bins[w][t] = 0;
    __syncthreads();

    int* own = bins[t / 32];
    for (long long i = (long long)blockIdx.x * THREADS + t; i < n; i += (long long)gridDim.x * THREADS) {
        const float v = x[i];
        if (v >= -4.0f && v < 4.0f) atomicAdd(&own[(int)floorf(32.0f * v) + 128], 1);
    }
    __syncthreads();

    int sum = 0;
    for (int w = 0; w < WARPS; ++w) sum += bins[w][t];
    if (sum) atomicAdd(&counts[t], sum);
}
