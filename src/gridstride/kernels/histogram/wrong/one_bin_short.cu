// One bin short: 255 is the last bin's number, and the threads that hand bins on stop before it.
//
// entry: histogram_one_bin_short
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void histogram_one_bin_short(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    bins[t] = 0;
    __syncthreads();
    const float v = i < n ? x[i] : -5.0f;
    if (v >= -4.0f && v < 4.0f) atomicAdd(&bins[(int)floorf(32.0f * v) + 128], 1);
    __syncthreads();
    if (t < 255) atomicAdd(&counts[t], bins[t]);
}
