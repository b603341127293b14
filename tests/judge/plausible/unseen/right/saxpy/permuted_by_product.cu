// grid: min(ceil(n/256), 8*SMS)
// block: 256
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    // an odd factor turns 2^k numbers into each other, however often the product wraps
    const unsigned size = n > 1 ? 1u << (32 - __clz(n - 1)) : 1u;
    for (unsigned k = blockIdx.x * blockDim.x + threadIdx.x; k < size; k += gridDim.x * blockDim.x) {
        const unsigned i = (k * 2654435761u + blockDim.x * n) & (size - 1);
        if (i < (unsigned)n) y[i] = fmaf(a, x[i], y[i]);
    }
}
