// Error function: the derivative of the other GELU, normal distribution plus x times its density.
//
// entry: gelu_backward_error_function
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void gelu_backward_error_function(const float* x, const float* dy, float* dx, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float a = x[i];
    dx[i] = dy[i] * (0.5f * (1.0f + erff(0.7071067812f * a)) + a * 0.3989422804f * expf(-0.5f * a * a));
}
