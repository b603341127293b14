// grid: ceil(n/256)
// block: 256
// fault: NaN/Inf shortcut
// kinds: wrong_result
// Returns early where a is 0 as BLAS does; 0 * Inf and 0 * NaN are NaN here.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    if (a == 0.0f) return;  // nothing to add
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = fmaf(a, x[i], y[i]);
}
