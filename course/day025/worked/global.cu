// Counts x into 256 bins in global memory. `run` neighbours are in one bin, and the next bin is `spread` further on.
//
// entry: global
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void global(const int* x, int* counts, int run, int spread, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int bin = x[i] / run * spread % 256;
    atomicAdd(&counts[bin], 1);
}
