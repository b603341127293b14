// A copy for each warp. It is what one does against blocks and warps that meet, and the counts are right. The lanes of a warp meet
// in the banks as before. It was for them that the copies were made.
//
// block: 1024
// grid: min(ceil(n/16384), SMS)
// expect: too_many more_passes

constexpr int BINS = 256;
constexpr int LANES = 32;
constexpr int THREADS = 1024;

extern "C" __global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int bins[BINS * LANES];

    const int t = threadIdx.x;
    for (int k = t; k < BINS * LANES; k += THREADS) bins[k] = 0;
    __syncthreads();

    const long long stride = (long long)gridDim.x * THREADS;
    for (long long i = (long long)blockIdx.x * THREADS + t; i < n; i += stride) {
        const float v = x[i];
        if (v >= -4.0f && v < 4.0f) {
            const int bin = (int)floorf(32.0f * v) + 128;
            atomicAdd(&bins[t / LANES * BINS + bin], 1);  // <- here
        }
    }
    __syncthreads();

    for (int bin = t; bin < BINS; bin += THREADS) {
        int sum = 0;
        for (int copy = 0; copy < LANES; ++copy) sum += bins[copy * BINS + bin];
        if (sum > 0) atomicAdd(&counts[bin], sum);
    }
}
