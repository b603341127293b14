// grid: ceil(n/512)
// block: 512
// fault: flags never reset
// kinds: wrong_result race unrepeatable
// The flags stay 1 after the first launch: in the second a block reads its neighbour's sum of the launch before.
__device__ float sums[8192];
__device__ unsigned flags[8192];
__device__ unsigned ticket, finished;
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[512];
    __shared__ unsigned tile;
    __shared__ float before;
    int t = threadIdx.x;
    if (t == 0) tile = atomicAdd(&ticket, 1);
    __syncthreads();
    int i = tile * 512 + t;
    s[t] = i < n ? x[i] : 0;
    __syncthreads();
    for (int d = 1; d < 512; d *= 2) {
        float v = t >= d ? s[t - d] : 0;
        __syncthreads();
        if (t >= d) s[t] += v;
        __syncthreads();
    }
    if (t == 0) {
        float sum = 0;
        if (tile) {
            while (atomicAdd(&flags[tile - 1], 0u) == 0) {}
            __threadfence();
            sum = sums[tile - 1];
        }
        before = sum;
        sums[tile] = sum + s[511];
        __threadfence();
        atomicExch(&flags[tile], 1u);
    }
    __syncthreads();
    if (i < n) y[i] = tile ? before + s[t] : s[t];
    if (t == 0 && atomicAdd(&finished, 1) == gridDim.x - 1) {
        atomicExch(&ticket, 0u);
        atomicExch(&finished, 0u);
    }
}
