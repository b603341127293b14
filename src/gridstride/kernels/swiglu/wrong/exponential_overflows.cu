// Exponential overflows: e^g over itself plus 1 is Inf / Inf from 89 on.
//
// entry: swiglu_exponential_overflows
// block: 256
// grid: ceil(n/256)
// expect: wrong_result

extern "C" __global__ void swiglu_exponential_overflows(const float* gate, const float* up, float* out, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float e = expf(gate[i]);
    out[i] = gate[i] * (e / (e + 1.0f)) * up[i];
}
