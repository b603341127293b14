// Logistic: x sigmoid(1.702 x), the rough form, up to 0.02 away.
//
// entry: gelu_logistic
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void gelu_logistic(const float* x, float* y, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] / (1.0f + expf(-1.702f * x[i]));
}
