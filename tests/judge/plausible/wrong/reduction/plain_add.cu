// grid: ceil(n/1024)
// block: 1024
// fault: race
// kinds: race wrong_result unrepeatable
// Each block's first thread adds to the total without an atomic: right for a single block.
__global__ void __launch_bounds__(1024) sum(const float* x, float* total, int n)
{
    __shared__ float w[32];
    int i = blockIdx.x * 1024 + threadIdx.x;
    float v = i < n ? x[i] : 0;
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) w[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) {
        float b = 0;
        for (float e : w) b += e;
        *total += b;
    }
}
