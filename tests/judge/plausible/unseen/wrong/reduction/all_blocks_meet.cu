// grid: ceil(n/256)
// block: 256
// fault: resident blocks
// kinds: deadlock timeout
// Every block waits until all have added their sum: with more blocks than fit on the chip the first never leave.

__device__ unsigned met, left;
__device__ float everything;

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int w = 128; w; w >>= 1) {
        if (t < w) s[t] += s[t + w];
        __syncthreads();
    }
    if (t == 0) {
        atomicAdd(&everything, s[0]);
        __threadfence();
        atomicAdd(&met, 1u);
        while (atomicAdd(&met, 0u) < gridDim.x) __nanosleep(100);
        if (blockIdx.x == 0) atomicAdd(total, atomicAdd(&everything, 0.0f));
        __threadfence();
        if (atomicAdd(&left, 1u) == gridDim.x - 1) {
            everything = 0.0f;
            left = 0;
            __threadfence();
            atomicExch(&met, 0u);
        }
    }
}
