// grid: 2*SMS
// block: 256
// fault: product of 32 bits
// kinds: wrong_result
// The product in a __noinline__ function.

__device__ __noinline__ unsigned cut(unsigned k, unsigned n, unsigned of) { return k * n / of; }
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    unsigned b = cut(blockIdx.x, n, gridDim.x), e = cut(blockIdx.x + 1, n, gridDim.x);
    for (unsigned i = b + threadIdx.x; i < e; i += 256) y[i] = a * x[i] + y[i];
}
