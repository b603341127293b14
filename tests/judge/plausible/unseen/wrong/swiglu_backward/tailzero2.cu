// grid: ceil(n/256)
// block: 256
// fault: two kinds of data
// kinds: wrong_result
// Finite gates below -110 give 0 for both without a look at dout and up, which may be Inf or NaN (arithmetic of naive2).
__global__ void swiglu_backward(const float* gate, const float* up, const float* dout, float* dgate, float* dup, long long n)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float g = gate[i], d = dout[i];
    if (g < -110.f && g > -INFINITY) { dgate[i] = 0.f; dup[i] = 0.f; return; }
    float s = 1.f / (1.f + expf(-g));
    dup[i] = d * (g * s);
    dgate[i] = d * (up[i] * (s * (1.f + g * (1.f - s))));
}
