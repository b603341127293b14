// grid: ceil(n/256)
// block: 256
// fault: output not written
// kinds: wrong_result
// Leaves c alone where both are 0, as if c had been cleared: wrong for a[i] == 0 and b[i] == 0.
__global__ void sparse_add(const float* a, const float* b, float* c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float x = a[i], y = b[i];
    if (x == 0.0f && y == 0.0f) return;  // nothing to do
    c[i] = x + y;
}
