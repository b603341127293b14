// grid: ceil(n/192)
// block: 192
// fault: values
// kinds: wrong_result
// Zeros of x are skipped to save a write: with a = Inf or NaN their product is NaN.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        const float v = x[i];
        if (v != 0.0f) y[i] = a * v + y[i];
    }
}
