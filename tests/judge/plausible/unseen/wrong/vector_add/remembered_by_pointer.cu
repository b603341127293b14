// grid: ceil(n/256)
// block: 256
// fault: device state between launches
// kinds: wrong_result
// Blocks keep their b from the launch before as long as pointer and size are the same: other data in the same memory is not seen.

__device__ float kept[1 << 20];
__device__ const float* kept_from[1 << 12];
__device__ int kept_size[1 << 12];

__global__ void vector_add(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const int slot = blockIdx.x & ((1 << 12) - 1);
    const bool small = n <= 1 << 20;
    const bool known = small && kept_from[slot] == b && kept_size[slot] == n;
    __syncthreads();
    if (i < n) {
        const float addend = known ? kept[i] : b[i];
        if (small && !known) kept[i] = addend;
        c[i] = a[i] + addend;
    }
    if (small && threadIdx.x == 0) {
        kept_from[slot] = b;
        kept_size[slot] = n;
    }
}
