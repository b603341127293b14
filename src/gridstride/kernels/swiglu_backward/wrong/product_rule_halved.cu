// Product rule halved: the sigmoid is taken for a constant, so that dgate lacks gate s (1 - s).
//
// entry: swiglu_backward_product_rule_halved
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void swiglu_backward_product_rule_halved(
    const float* gate, const float* up, const float* dout, float* dgate, float* dup, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float s = 1.0f / (1.0f + expf(-gate[i]));
    dup[i] = dout[i] * gate[i] * s;
    dgate[i] = dout[i] * up[i] * s;
}
