// Unguarded tail: the last block reaches past n and nothing keeps it out.
//
// entry: saxpy_unguarded_tail
// block: 256
// grid: ceil(n/256)
// expect: out_of_bounds

extern "C" __global__ void saxpy_unguarded_tail(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = a * x[i] + y[i];  // <- here
}
