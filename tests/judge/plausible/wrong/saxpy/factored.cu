// grid: ceil(n/256)
// block: 256
// fault: division by zero
// kinds: wrong_result
// a (x + y / a): NaN for a = 0, and y / a overflows for a small a.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    const float inverse = 1.0f / a;
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * (x[i] + y[i] * inverse);
}
