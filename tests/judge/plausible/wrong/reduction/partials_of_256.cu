// grid: ceil(n/256)
// block: 256
// fault: fixed count
// kinds: out_of_bounds wrong_result uninitialised_read race fault
// Room for the sums of 256 blocks: from n = 65,537 on it writes behind `partial`, and never adds what is there.
__device__ float partial[256];
__device__ unsigned done;
__global__ void sum(const float* x, float* total, int n)
{
    __shared__ float s[256];
    __shared__ bool last;
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0.f;
    __syncthreads();
    for (int k = 128; k; k >>= 1) {
        if (t < k) s[t] += s[t + k];
        __syncthreads();
    }
    if (t == 0) {
        partial[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && t == 0) {
        __threadfence();
        float all = 0;
        for (int b = 0; b < min(gridDim.x, 256u); ++b) all += ((volatile float*)partial)[b];
        *total += all;
    }
}
