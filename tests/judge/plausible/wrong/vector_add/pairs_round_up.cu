// grid: ceil(n/512)
// block: 256
// fault: tail of 2
// kinds: out_of_bounds
// Two scalars per thread, guarded by the first of them: an odd n is overrun by one element.
__global__ void add_pairs(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n)
{
    const int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i >= n) return;
    const float s0 = a[i] + b[i];
    const float s1 = a[i + 1] + b[i + 1];
    c[i] = s0;
    c[i + 1] = s1;
}
