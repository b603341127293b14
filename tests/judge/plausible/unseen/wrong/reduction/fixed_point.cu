// grid: ceil(n/256)
// block: 256
// fault: values
// kinds: wrong_result
// For the same answer in any order, sums are kept in units of 2^-24 in 64 bits: Inf, NaN and what is huge do not fit.

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ unsigned long long sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) atomicAdd(&sum, (unsigned long long)__float2ll_rn(x[i] * 16777216.0f));
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, (float)((double)(long long)sum / 16777216.0));
}
