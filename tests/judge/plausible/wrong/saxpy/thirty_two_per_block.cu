// grid: max(1,n//32)
// block: 32
// fault: tail of 32
// kinds: wrong_result
// The number of blocks is rounded down: n % 32 elements at the end stay as they were, unless n is below 32.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int i = blockIdx.x * 32 + threadIdx.x;
    if (i < n) y[i] += a * x[i];
}
