// One block. Its lanes never meet, and the bins are handed on once, which is as few additions to the counts as there can
// be. All elements go through one multiprocessor. The other 131 have nothing to do.
//
// block: 1024
// grid: 1
// expect: too_few blocks

constexpr int BINS = 256;
constexpr int LANES = 32;
constexpr int THREADS = 1024;

extern "C" __global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int bins[BINS * LANES];

    const int t = threadIdx.x, lane = t % LANES;
    for (int k = t; k < BINS * LANES; k += THREADS) bins[k] = 0;
    __syncthreads();

    const long long stride = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + t; i < n; i += stride) {
        const float v = x[i];
        if (v >= -4.0f && v < 4.0f) {
            const int bin = (int)floorf(32.0f * v) + 128;
            atomicAdd(&bins[bin * LANES + lane], 1);
        }
    }
    __syncthreads();

    for (int bin = t / LANES; bin < BINS; bin += THREADS / LANES) {
        int sum = bins[bin * LANES + lane];
        for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
        if (lane == 0 && sum > 0) atomicAdd(&counts[bin], sum);
    }
}
