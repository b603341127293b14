// Gives back what an earlier launch found, for other data.
//
// entry: add
// block: 256
// grid: 1024
// expect: wrong_result

__device__ float kept[1 << 24];
__device__ unsigned blocks;

__global__ void add(const float* a, const float* b, float* c, int n)
{
    __shared__ unsigned before;
    if (threadIdx.x == 0) before = atomicAdd(&blocks, 1);
    __syncthreads();
    const bool first = before < gridDim.x;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        c[i] = first && i < 1 << 24 ? (kept[i] = a[i] + b[i]) : kept[i];
}
