// grid: 8
// block: 96
// A work queue: blocks take tiles of 96 by ticket; the last block to leave puts the ticket back for the next launch.
__device__ unsigned int ticket, left;
extern "C" __global__ void add_queue(const float* a, const float* b, float* c, int n)
{
    __shared__ unsigned int tile;
    while (true) {
        __syncthreads();
        if (threadIdx.x == 0) tile = atomicAdd(&ticket, 1u);
        __syncthreads();
        const long long i = (long long)tile * 96 + threadIdx.x;
        if (i - threadIdx.x >= n) break;
        if (i >= n) continue;
        c[i] = a[i] + b[i];
    }
    if (threadIdx.x == 0 && atomicAdd(&left, 1u) == gridDim.x - 1) {
        ticket = 0;
        left = 0;
    }
}
