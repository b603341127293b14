// grid: ceil(n/256)
// block: 256
// fault: race
// kinds: race
// The last block is moved back so that it is full, and does elements of its neighbour once more, in place: a x is added twice (or in a race) where n > 256 and n % 256 != 0.

__global__ void saxpy(int n, float a, const float* x, float* y)
{
    int base = blockIdx.x * 256;
    if (n >= 256 && base + 256 > n) base = n - 256;      // a full block instead of a ragged one
    const int i = base + threadIdx.x;
    if (i < n) y[i] = fmaf(a, x[i], y[i]);
}
