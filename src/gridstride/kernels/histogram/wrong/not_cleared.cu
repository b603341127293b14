// Not cleared: a block counts on from whatever its shared memory holds when it starts.
//
// entry: histogram_not_cleared
// block: 256
// grid: ceil(n/256)
// expect: uninitialised_read

extern "C" __global__ void histogram_not_cleared(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    const float v = i < n ? x[i] : -5.0f;
    if (v >= -4.0f && v < 4.0f) atomicAdd(&bins[(int)floorf(32.0f * v) + 128], 1);  // <- here
    __syncthreads();
    atomicAdd(&counts[t], bins[t]);
}
