// 01 naive: the formulas as they stand, one element per thread.
//
// Moves: nothing yet. Five memory instructions for two results.
// Mapping: thread t of block b -> element b * 256 + t.
//
// entry: swiglu_backward_naive
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void swiglu_backward_naive(
    const float* gate, const float* up, const float* dout, float* dgate, float* dup, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float g = gate[i], s = 1.0f / (1.0f + expf(-g));
    dup[i] = dout[i] * (g * s);
    dgate[i] = dout[i] * up[i] * (s * (1.0f + g * (1.0f - s)));
}
