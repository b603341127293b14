// Works in the first launch and leaves at once in those that follow.
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
    if (before >= gridDim.x) return;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) c[i] = a[i] + b[i];
}
