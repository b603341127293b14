// grid: 4*SMS
// block: 256
// fault: a = 0 leaves early
// kinds: wrong_result
// As BLAS has it nothing is done for a = 0: 0 times Inf is NaN, and y keeps its number.
__global__ void saxpy(int n, float a, const float* x, float* y)
{
    if (a == 0.0f) return;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) y[i] = a * x[i] + y[i];
}
