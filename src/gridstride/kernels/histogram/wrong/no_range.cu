// No range: what lies outside of -4 to 4 has no bin, and is counted in front of the counts or behind them.
//
// entry: histogram_no_range
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void histogram_no_range(const float* x, int* counts, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&counts[(int)floorf(32.0f * x[i]) + 128], 1);  // <- here
}
