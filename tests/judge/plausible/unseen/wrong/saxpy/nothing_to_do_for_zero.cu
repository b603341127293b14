// grid: ceil(n/256)
// block: 256
// fault: values
// kinds: wrong_result
// a = 0 returns at once: 0 * Inf and 0 * NaN should have made y NaN.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    if (a == 0.0f) return;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) y[i] = a * x[i] + y[i];
}
