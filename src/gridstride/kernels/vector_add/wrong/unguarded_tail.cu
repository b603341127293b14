// Unguarded tail: the last block reaches past n and nothing keeps it out.
//
// entry: add_unguarded_tail
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void add_unguarded_tail(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    c[i] = a[i] + b[i];  // <- here
}
