// Lost updates: `+=` reads, adds and writes; threads that read the same old total overwrite each other's sums.
//
// entry: sum_lost_updates
// block: 256
// grid: ceil(n/256)
// expect: race

extern "C" __global__ void sum_lost_updates(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) *total += x[i];  // <- here
}
