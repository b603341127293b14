// grid: ceil(n/512)
// block: 256
// fault: small sizes
// kinds: out_of_bounds
// The bound n - 2 is unsigned: for n = 1 it is 4,294,967,295 and all threads of the block pass it.
__global__ void add2(const float* a, const float* b, float* c, int n)
{
    unsigned count = n, i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (i <= count - 2) {
        c[i] = a[i] + b[i];
        c[i + 1] = a[i + 1] + b[i + 1];
    } else if (i < count) {
        c[i] = a[i] + b[i];
    }
}
