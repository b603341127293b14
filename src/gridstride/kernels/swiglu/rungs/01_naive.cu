// 01 naive: the formula as it stands, one element per thread.
//
// Moves: nothing yet. Three memory instructions for one result.
// Mapping: thread t of block b -> element b * 256 + t.
//
// entry: swiglu_naive
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void swiglu_naive(const float* gate, const float* up, float* out, long long n)
{
    const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = gate[i] / (1.0f + expf(-gate[i])) * up[i];
}
