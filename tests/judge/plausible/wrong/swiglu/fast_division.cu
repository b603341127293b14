// fault: __fdividef gives 0 where the divisor lies above 2^126: gates between -87.3 and -88.7
// kinds: wrong_result
// grid: ceil(n/256)
// block: 256
__global__ void swiglu(const float* gate, const float* up, float* out, long long n)
{
    const long long i = (long long)blockIdx.x * 256 + threadIdx.x;
    if (i < n) out[i] = __fdividef(gate[i], 1.0f + expf(-gate[i])) * up[i];
}
