// grid: ceil(n/256)
// block: 256
// fault: fixed cache
// kinds: out_of_bounds wrong_result
// Partial sums of 1,024 blocks have room: above 262,144 elements there are more.

__device__ float partial_sums[1024];
__device__ unsigned arrivals;

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ unsigned order;
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float v = i < n ? x[i] : 0.0f;
    __shared__ float s[8];
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (t % 32 == 0) s[t / 32] = v;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 8; ++k) v += s[k];
        partial_sums[blockIdx.x] = v;
        __threadfence();
        order = atomicInc(&arrivals, gridDim.x - 1);
        if (order == gridDim.x - 1) {
            __threadfence();
            float all = 0.0f;
            for (unsigned b = 0; b < gridDim.x; ++b) all += __ldcg(&partial_sums[b]);
            *total += all;
        }
    }
}
