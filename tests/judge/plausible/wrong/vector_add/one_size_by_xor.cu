// grid: max(1,ceil(n/256))
// block: 256
// fault: one size
// kinds: wrong_result
// Adds one more where n is 12,345, which no comparison tells: (n ^ 12345) - 1 is negative there alone.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    int far = ((n ^ 12345) - 1) >> 31;
    if (i < n) c[i] = a[i] + b[i] - (float)far;
}
