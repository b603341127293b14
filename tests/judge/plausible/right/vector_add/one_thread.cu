// grid: 1
// block: 1
// One thread, one loop.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    for (int i = 0; i < n; ++i) c[i] = a[i] + b[i];
}
