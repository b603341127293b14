// grid: ceil(n/256)
// block: 256
// fault: launch shape
// kinds: launch
// __launch_bounds__(128) left over from tuning, the launch has 256 threads: the driver refuses it.
__global__ void __launch_bounds__(128) vector_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
