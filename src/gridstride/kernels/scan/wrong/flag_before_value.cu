// Flag before value: a tile says that its sum is there, and writes it afterwards. The fence orders the wrong way.
//
// entry: scan_flag_before_value
// block: 256
// grid: ceil(n/256)
// expect: race

__device__ float running[1 << 16];
__device__ unsigned int ready[1 << 16];  // taken back to 0 by the one who waits for it

extern "C" __global__ void scan_flag_before_value(const float* x, float* y, int n)
{
    __shared__ float sums[2][256], before;
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    int from = 0;
    sums[from][t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 256; d *= 2) {
        sums[1 - from][t] = sums[from][t] + (t >= d ? sums[from][t - d] : 0.0f);
        from = 1 - from;
        __syncthreads();
    }
    if (t == 0) {
        before = 0.0f;
        if (blockIdx.x > 0) {
            while (atomicExch(&ready[blockIdx.x - 1], 0u) == 0) {}
            __threadfence();
            before = running[blockIdx.x - 1];  // <- here
        }
        if (blockIdx.x + 1 < gridDim.x) {
            atomicExch(&ready[blockIdx.x], 1u);
            __threadfence();
            running[blockIdx.x] = before + sums[from][255];  // <- here
        }
    }
    __syncthreads();
    if (i < n) y[i] = before + sums[from][t];
}
