// First term only: the product rule's second half is forgotten, as if tanh did not depend on x.
//
// entry: gelu_backward_first_term_only
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void gelu_backward_first_term_only(const float* x, const float* dy, float* dx, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) dx[i] = dy[i] * 0.5f * (1.0f + tanhf(0.7978845608f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}
