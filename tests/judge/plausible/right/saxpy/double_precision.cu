// grid: ceil(n/1000)
// block: 1000
// In float64, rounded once, in blocks of 1,000 threads.
__global__ void saxpy_double(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * 1000 + threadIdx.x;
    if (i < n) y[i] = (float)((double)a * x[i] + y[i]);
}
