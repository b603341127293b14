// Truncated: a cast to int goes towards zero, so every negative number that is no edge lands one bin too high.
//
// entry: histogram_truncated
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void histogram_truncated(const float* x, int* counts, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float v = x[i];
    if (v >= -4.0f && v < 4.0f) atomicAdd(&counts[(int)(32.0f * v) + 128], 1);
}
