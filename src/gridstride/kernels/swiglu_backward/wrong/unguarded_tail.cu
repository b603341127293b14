// Unguarded tail: the last block reads and writes past n.
//
// entry: swiglu_backward_unguarded_tail
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void swiglu_backward_unguarded_tail(
    const float* gate, const float* up, const float* dout, float* dgate, float* dup, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const float g = gate[i], s = 1.0f / (1.0f + expf(-g));  // <- here
    dup[i] = dout[i] * g * s;  // <- here
    dgate[i] = dout[i] * up[i] * s * (1.0f + g * (1.0f - s));  // <- here
}
