// grid: ceil(n/256)
// block: 256
// fault: input written
// kinds: input_changed
// Adds in place and puts back what was there: a second kernel that reads `a` meanwhile would see the sum.
__global__ void add(float* a, const float* b, float* c, int n)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) return;
    a[i] += b[i];
    c[i] = a[i];
    a[i] -= b[i];
}
