// Calls itself for ever.
//
// block: 64
// grid: ceil(n/64)
// expect: stack_overflow timeout

__device__ __noinline__ int again(int n)
{
    volatile int here[64];
    here[n & 63] = n;
    return again(n + 1) + here[(n + 1) & 63];
}
__global__ void k(const float* x, float* y, int n)
{
    y[0] = again(n);
}
