// grid: ceil(n/128)
// block: 128
// fault: block order
// kinds: race wrong_result unrepeatable
// A block copies a into its own part of c and adds b to the part of the block before, as if that were surely there.
__global__ void add_in_two_steps(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) c[i] = blockIdx.x + 1 == gridDim.x ? a[i] + b[i] : a[i];
    __threadfence();
    __syncthreads();
    int j = i - 128;
    if (j >= 0 && j < n) c[j] += b[j];
}
