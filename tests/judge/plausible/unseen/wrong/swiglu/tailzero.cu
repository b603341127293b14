// grid: ceil(n/256)
// block: 256
// fault: two kinds of data
// kinds: wrong_result
// Gates below -110 (finite) give 0 without a look at up: up = Inf or NaN must give NaN or -Inf.
__global__ void swiglu(const float* gate, const float* up, float* out, long long n)
{
    long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    float g = gate[i];
    out[i] = g < -110.f && g > -INFINITY ? 0.f : g / (1.f + expf(-g)) * up[i];
}
