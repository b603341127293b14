// Error function: the other GELU, x times the normal distribution, which the tanh form is near to and is not.
//
// entry: gelu_error_function
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void gelu_error_function(const float* x, float* y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = 0.5f * x[i] * (1.0f + erff(0.7071067812f * x[i]));
}
