// Off by one: `<=` lets the thread with i == n through, one element past the end.
//
// entry: add_off_by_one
// block: 256
// grid: ceil((n+1)/256)
// expect: out_of_bounds

extern "C" __global__ void add_off_by_one(const float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i <= n) c[i] = a[i] + b[i];  // <- here
}
