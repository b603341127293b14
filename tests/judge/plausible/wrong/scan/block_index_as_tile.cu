// grid: ceil(n/256)
// block: 256
// fault: block order
// kinds: deadlock timeout race
// A chained scan in which block b takes tile b: it waits for block b - 1, which need not have begun.
__device__ volatile float running[1 << 23];
__device__ unsigned ready[1 << 23];
__global__ void chained_scan(const float* x, float* y, int n)
{
    __shared__ float s[256], before;
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0;
    for (int d = 1; d < 256; d <<= 1) {
        __syncthreads();
        float v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
    }
    __syncthreads();
    if (t == 0) {
        before = 0;
        if (blockIdx.x) {
            while (atomicExch(&ready[blockIdx.x - 1], 0u) == 0) {}
            __threadfence();
            before = running[blockIdx.x - 1];
        }
        if (blockIdx.x + 1 < gridDim.x) {
            running[blockIdx.x] = before + s[255];
            __threadfence();
            atomicExch(&ready[blockIdx.x], 1u);
        }
    }
    __syncthreads();
    if (i < n) y[i] = before + s[t];
}
