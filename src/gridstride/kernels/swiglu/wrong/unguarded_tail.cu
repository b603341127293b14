// Unguarded tail: the last block reads and writes past n.
//
// entry: swiglu_unguarded_tail
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void swiglu_unguarded_tail(const float* gate, const float* up, float* out, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    const float g = gate[i];  // <- here
    out[i] = g / (1.0f + expf(-g)) * up[i];  // <- here
}
