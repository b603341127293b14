// Right: blockIdx.x * n wraps, of which the low eight bits alone are used.
//
// grid: ceil(n/256)
// block: 256

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    unsigned i = blockIdx.x * 256 + ((threadIdx.x + blockIdx.x * n) & 255); if (i < n) y[i] = a * x[i] + y[i];
}
