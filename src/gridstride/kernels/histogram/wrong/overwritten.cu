// Overwritten: the one block stores its bins where it should add them to the counts.
//
// entry: histogram_overwritten
// block: 256
// grid: 1
// expect: wrong_result

extern "C" __global__ void histogram_overwritten(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    const int t = threadIdx.x;
    bins[t] = 0;
    __syncthreads();
    for (int i = t; i < n; i += 256) {
        const float v = x[i];
        if (v >= -4.0f && v < 4.0f) atomicAdd(&bins[(int)floorf(32.0f * v) + 128], 1);
    }
    __syncthreads();
    counts[t] = bins[t];
}
