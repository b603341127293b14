// grid: ceil(n/256)
// block: 256
// fault: precision
// kinds: wrong_result
// Sums whole numbers by __reduce_add_sync: right for whole numbers below 2^26 and nothing else.
__global__ void sum_redux(const float* x, float* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int v = i < n ? __float2int_rn(x[i]) : 0;
    int s = __reduce_add_sync(0xffffffffu, v);
    if ((threadIdx.x & 31) == 0) atomicAdd(total, (float)s);
}
