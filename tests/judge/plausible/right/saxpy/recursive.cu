// grid: 3
// block: 64
// Halves the range until 8 elements are left: recursion on the device's stack, each thread with a slice of its own.
__device__ __noinline__ void part(int first, int last, float a, const float* x, float* y)
{
    if (last - first > 8) {
        const int middle = first + (last - first) / 2;
        part(first, middle, a, x, y);
        part(middle, last, a, x, y);
        return;
    }
    for (int i = first; i < last; ++i) y[i] += a * x[i];
}
extern "C" __global__ void saxpy_recursive(int n, float a, const float* x, float* y)
{
    const long long threads = gridDim.x * blockDim.x, t = blockIdx.x * blockDim.x + threadIdx.x;
    part(n * t / threads, n * (t + 1) / threads, a, x, y);
}
