// Added to: `+=` reads c, which nothing has written yet.
//
// entry: add_added_to
// block: 256
// grid: ceil(n/256)
// expect: uninitialised_read

extern "C" __global__ void add_added_to(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) c[i] += a[i] + b[i];  // <- here
}
