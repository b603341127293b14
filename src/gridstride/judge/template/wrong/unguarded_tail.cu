// Unguarded tail: the last block has threads for elements that there are not.
//
// entry: NAME_unguarded_tail
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void NAME_unguarded_tail(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[i] * x[i] + 1.0f;  // <- here
}
