// Forgotten y: the product replaces y instead of being added to it.
//
// entry: saxpy_forgotten_y
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void saxpy_forgotten_y(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i];
}
