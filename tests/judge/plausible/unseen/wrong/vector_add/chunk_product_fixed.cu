// grid: 256
// block: 256
// fault: sizes
// kinds: wrong_result
// blockIdx.x * n wraps in 32 bits when cutting into chunks: at the timed size, later blocks begin anew.

__global__ void vector_add(const float* a, const float* b_, float* c, int n)
{
    unsigned total = n;
    unsigned b = blockIdx.x * total / gridDim.x, e = (blockIdx.x + 1) * total / gridDim.x;
    for (unsigned i = b + threadIdx.x; i < e; i += 256) { c[i] = a[i] + b_[i]; }
}
