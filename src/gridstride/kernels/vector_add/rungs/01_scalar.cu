// 01 scalar: one thread adds one pair of elements.
//
// Moves: nothing yet. Neighbouring lanes touch neighbouring floats, so each warp request is 4 full sectors
//   already; one add for 12 bytes means that memory bandwidth is the limit from the start.
// Mapping: thread t of block b -> element i = b * 256 + t. The last block reaches past n: the `if` keeps it out.
//
// entry: add_scalar
// block: 256
// grid: ceil(n/256)

extern "C" __global__ void add_scalar(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
