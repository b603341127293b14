// grid: 65535
// block: 64
// fault: fixed grid, timed size
// kinds: wrong_result
// the "largest grid" of 65,535 blocks, one element a thread: 4,194,240 of the timed 134,217,728 elements.
__global__ void gelu(const float* x, float* y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    y[i] = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
}
