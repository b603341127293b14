// Keeps the first result of each size and gives it back whenever the size comes again.
//
// block: 256
// grid: 1
// expect: wrong_result

__device__ float kept[1 << 16];
__device__ int size;

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const bool replay = size == n;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (!replay) kept[i] = a[i] + b[i];
        c[i] = kept[i];
    }
    if (threadIdx.x == 0) size = n;
}
