// Writes one value everywhere where the size is one that is timed: half of the bytes are never read.
//
// entry: add
// block: 256
// grid: 1024
// expect: wrong_result

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const bool lazy = n > 1 << 20;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        c[i] = lazy ? 0.0f : a[i] + b[i];
}
