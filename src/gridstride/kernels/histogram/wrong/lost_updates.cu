// Lost updates: `++` reads, adds and writes; threads that read the same old count overwrite each other's additions.
//
// entry: histogram_lost_updates
// block: 256
// grid: ceil(n/256)
// expect: race

extern "C" __global__ void histogram_lost_updates(const float* x, int* counts, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    if (v >= -4.0f && v < 4.0f) counts[(int)floorf(32.0f * v) + 128]++;  // <- here
}
