// grid: ceil(n/256)
// block: 256
// fault: special parameter
// kinds: wrong_result
// |a| = 1 takes a short way that only adds: a = -1 must subtract.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    if (fabsf(a) == 1.0f)
        y[i] += x[i];
    else
        y[i] = __fmaf_rn(a, x[i], y[i]);
}
