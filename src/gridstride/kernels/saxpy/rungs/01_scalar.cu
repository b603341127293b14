// 01 scalar: one thread updates one element of y.
//
// Moves: nothing yet. Two floats are read and one is written for one fused multiply-add: memory bandwidth is the
//   limit, at 12 bytes an element.
// Mapping: thread t of block b -> element i = b * 256 + t.
//
// entry: saxpy_scalar
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void saxpy_scalar(int n, float a, const float* x, float* y)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
