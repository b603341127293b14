// 01 naive: one thread computes one element.
//
// Moves: nothing yet. 8 bytes move for two operations: memory bandwidth is the limit.
// Mapping: thread t of block b -> element i = b * 256 + t.
//
// entry: NAME_naive
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void NAME_naive(const float* x, float* y, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = x[i] * x[i] + 1.0f;
}
