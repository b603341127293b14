// Gradients swapped: each is stored where the other belongs.
//
// entry: swiglu_backward_gradients_swapped
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void swiglu_backward_gradients_swapped(
    const float* gate, const float* up, const float* dout, float* dgate, float* dup, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float g = gate[i], s = 1.0f / (1.0f + expf(-g));
    dgate[i] = dout[i] * g * s;
    dup[i] = dout[i] * up[i] * s * (1.0f + g * (1.0f - s));
}
