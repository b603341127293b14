// Knows a call by a few elements of its data and gives the result that it kept.
//
// block: 256
// grid: 1
// expect: wrong_result

__device__ float kept[1 << 16];
__device__ float first;
__device__ int size;

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const bool same = size == n && first > -8.0f;
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        if (!same) kept[i] = a[i] + b[i];
        c[i] = kept[i];
    }
    if (threadIdx.x == 0) {
        size = n;
        first = a[0];
    }
}
