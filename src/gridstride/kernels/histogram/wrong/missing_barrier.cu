// Missing barrier: a thread adds to a bin that the thread who clears it has not come to yet.
//
// entry: histogram_missing_barrier
// block: 256
// grid: ceil(n/256)
// expect: race

extern "C" __global__ void histogram_missing_barrier(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    bins[t] = 0;  // <- here
    const float v = i < n ? x[i] : -5.0f;
    if (v >= -4.0f && v < 4.0f) atomicAdd(&bins[(int)floorf(32.0f * v) + 128], 1);  // <- here
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
}
