// grid: ceil(n/256)
// block: 256
// fault: precision
// kinds: wrong_result
// Sums in 64-bit fixed point with 20 bits behind the point: neither 1e-9 nor infinity nor 1e30 can be held.
__device__ unsigned long long fixed;
__device__ unsigned done;
__global__ void sum(const float* x, float* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        long long q = (long long)(x[i] * 1048576.0f);
        atomicAdd(&fixed, (unsigned long long)q);
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0 && atomicInc(&done, gridDim.x - 1) == gridDim.x - 1) {
        __threadfence();
        *total += (float)((long long)atomicExch(&fixed, 0ull) / 1048576.0);
    }
}
