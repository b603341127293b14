// Keeps the result of each address and gives it back when it sees the address again.
//
// block: 1024
// grid: ceil(n/1024)
// expect: wrong_result

__device__ float kept[1 << 16];
__device__ const float* whose;
__device__ int size;

__global__ void add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const bool seen = whose == a && size == n;
    __syncthreads();
    if (seen) {
        if (i < n) c[i] = kept[i];
        return;
    }
    if (i < n) kept[i] = c[i] = a[i] + b[i];
    if (i == n - 1 && gridDim.x == 1) {
        whose = a;
        size = n;
    }
}
