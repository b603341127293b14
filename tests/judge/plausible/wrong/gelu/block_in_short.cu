// fault: the number of the block goes through an unsigned short
// kinds: wrong_result uninitialised_read race
// grid: ceil(n/32)
// block: 32
__global__ void gelu(const float* x, float* y, long long n)
{
    const unsigned short block = blockIdx.x;
    const long long i = block * 32ll + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}
