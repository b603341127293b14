// grid: ceil(n/256)
// block: 256
// fault: wrong formula
// kinds: wrong_result
// Returns where a = 0, though 0 * Inf and 0 * NaN in x must make y NaN.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    if (a == 0.0f) return;                       // nothing to add
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
