// Gives back what it found for the same size before.
//
// entry: add
// block: 256
// grid: 1024
// expect: wrong_result

__device__ float kept[1 << 24];
__device__ int kept_n;
__device__ unsigned blocks_done;

__global__ void add(const float* a, const float* b, float* c, int n)
{
    __shared__ bool known;
    if (threadIdx.x == 0) known = *(volatile int*)&kept_n == n;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        c[i] = known && i < 1 << 24 ? kept[i] : (kept[i & ((1 << 24) - 1)] = a[i] + b[i]);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&blocks_done, 1) == gridDim.x - 1) kept_n = n;
}
