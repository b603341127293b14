// grid: 1
// block: 1000
//
// A single block of 1000 threads goes through everything.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    for (int i = threadIdx.x; i < n; i += 1000) y[i] = a * x[i] + y[i];
}
