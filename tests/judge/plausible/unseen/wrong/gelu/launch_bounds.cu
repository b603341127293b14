// grid: ceil(n/256)
// block: 256
// fault: launch bounds below block
// kinds: launch
// The kernel is compiled for 128 threads at most and launched with 256: the launch fails.
__global__ void __launch_bounds__(128) gelu(const float* x, float* y, long long n)
{
    long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        y[i] = 0.5f * v * (1 + tanhf(0.7978845608f * (v + 0.044715f * v * v * v)));
    }
}
