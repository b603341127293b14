// grid: ceil(n/256)
// block: 256
// The formula as it stands, float32
__global__ void swiglu_backward(const float* gate, const float* up, const float* dout, float* dgate, float* dup, long long n)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float g = gate[i], d = dout[i];
    float s = 1.f / (1.f + expf(-g));
    dup[i] = d * g * s;
    dgate[i] = d * up[i] * s * (1.f + g * (1.f - s));
}
