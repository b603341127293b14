// grid: min(max(1, ceil(n/1024)), 4*SMS)
// block: 256
// fault: precision
// kinds: wrong_result
// Sums in 64-bit fixed point with 2^-30 steps 'to be repeatable': numbers below 1e-9 are lost altogether and sums over
// 2^33 overflow; float32 holds both, tolerance is relative.
__device__ unsigned long long acc;
__device__ float odd;
__device__ unsigned int done;
__global__ void sum(const float* x, float* total, int n)
{
    long long v = 0;
    float special = 0;
    for (long long i = blockIdx.x * 256LL + threadIdx.x; i < n; i += gridDim.x * 256LL) {
        if (isfinite(x[i])) v += __double2ll_rn((double)x[i] * 1073741824.0);
        else special += x[i];
    }
    atomicAdd(&acc, (unsigned long long)v);
    if (special != 0) atomicAdd(&odd, special);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && atomicAdd(&done, 1) == gridDim.x - 1) {
        __threadfence();
        long long t = (long long)atomicExch(&acc, 0ull);
        float o = atomicExch(&odd, 0.0f);
        *total = (float)(*total + t / 1073741824.0 + o);
        atomicExch(&done, 0);
    }
}
