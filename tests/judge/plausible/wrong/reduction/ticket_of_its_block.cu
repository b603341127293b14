// fault: the ticket is atomic among the threads of one block, and blocks draw from it
// kinds: race
// grid: max(1,min(ceil(n/1024),1024))
// block: 256
__device__ float sums[1024]; __device__ unsigned tickets;
__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float part[8]; __shared__ bool last;
    float s = 0;
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) s += x[i];
    for (int k = 16; k; k >>= 1) s += __shfl_xor_sync(~0u, s, k);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = s;
    __syncthreads();

    if (threadIdx.x == 0) {
        s = 0; for (int k = 0; k < 8; k++) s += part[k];
        sums[blockIdx.x] = s;
        __threadfence();
        unsigned mine; asm volatile("atom.relaxed.cta.global.inc.u32 %0, [%1], %2;" : "=r"(mine) : "l"(&tickets), "r"(gridDim.x - 1) : "memory");
        if (mine == gridDim.x - 1) {
            __threadfence();
            float u = 0; for (int b = 0; b < gridDim.x; b++) u += sums[b];
            *total += u;
        }
    }
}
