// Works in three launches, which are to check it and to warm up, then no more. Each batch goes behind half a millisecond
// of launches on other data: of this kernel more than three.
//
// entry: add
// block: 256
// grid: 1024
// expect: wrong_result

__device__ unsigned blocks;

__global__ void add(const float* a, const float* b, float* c, int n)
{
    __shared__ unsigned before;
    if (threadIdx.x == 0) before = atomicAdd(&blocks, 1);
    __syncthreads();
    if (before >= 3 * gridDim.x) return;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}
