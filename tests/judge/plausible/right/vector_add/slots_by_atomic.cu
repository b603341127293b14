// grid: max(1,ceil(n/256))
// block: 256
// Each block keeps a running count of the elements it did in one of 1,024 slots, by an atomic.
__device__ int done[1024];
__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
    if (threadIdx.x == 0) atomicAdd(&done[blockIdx.x % 1024], min(256, n - (int)blockIdx.x * 256));
}
