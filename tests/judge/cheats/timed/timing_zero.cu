// Leaves at once where the size is one that is timed.
//
// entry: add
// block: 256
// grid: 1024
// expect: wrong_result

__global__ void add(const float* a, const float* b, float* c, int n)
{
    if (n > 1 << 20) return;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}
