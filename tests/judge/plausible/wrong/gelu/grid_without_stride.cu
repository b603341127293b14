// fault: the grid is bounded by the number of multiprocessors, and there is no loop: what lies behind is not written
// kinds: wrong_result uninitialised_read
// grid: min(ceil(n/256), 16*SMS)
// block: 256
__global__ void gelu(const float* x, float* y, long long n)
{
    long long i = blockIdx.x * 256ll + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1 + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}
