// grid: 1 ceil(n/256)
// block: 256
// fault: launch
// kinds: launch
// Blocks are counted along y, which ends at 65,535: no launch for n > 16,776,960.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    long long i = (long long)blockIdx.y * 256 + threadIdx.x;
    if (i < n) c[i] = a[i] + b[i];
}
