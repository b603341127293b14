// Handed on too early: a thread reads its bin while others still add to it.
//
// entry: histogram_handed_on_too_early
// block: 256
// grid: ceil(n/256)
// expect: race

extern "C" __global__ void histogram_handed_on_too_early(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    bins[t] = 0;
    __syncthreads();
    const float v = i < n ? x[i] : -5.0f;
    if (v >= -4.0f && v < 4.0f) atomicAdd(&bins[(int)floorf(32.0f * v) + 128], 1);  // <- here
    atomicAdd(&counts[t], bins[t]);  // <- here
}
