// grid: ceil(n/64)
// block: 64
// fault: uninitialised shared
// kinds: uninitialised_read wrong_result
// Blocks skip the addition where all of b is 0; that is voted on through flags that threads behind n have not written.
__global__ void add_unless_zero(const float* a, const float* b, float* c, int n)
{
    __shared__ int nonzero[64];
    int t = threadIdx.x, i = blockIdx.x * 64 + t;
    if (i < n) nonzero[t] = b[i] != 0.0f;
    __syncthreads();
    unsigned any = __ballot_sync(0xffffffffu, nonzero[t]) | __ballot_sync(0xffffffffu, nonzero[t ^ 32]);
    if (i < n) c[i] = any ? a[i] + b[i] : a[i] + 0.0f;
}
