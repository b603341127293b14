// grid: 4*SMS
// block: 256
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    // both ends wrap, their difference does not: begin is taken modulo 2^32 from a product of 64 bits cut late
    const unsigned long long p = (unsigned long long)blockIdx.x * (unsigned)n;
    const unsigned begin = (unsigned)(p / gridDim.x), count = (unsigned)((p + n) / gridDim.x) - begin;
    for (unsigned k = threadIdx.x; k < count; k += blockDim.x) y[begin + k] = fmaf(a, x[begin + k], y[begin + k]);
}
