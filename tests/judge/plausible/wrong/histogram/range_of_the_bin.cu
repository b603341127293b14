// grid: ceil(n/256)
// block: 256
// fault: NaN and infinity
// kinds: wrong_result
// The bin's number is checked in place of x; a NaN as an int is 0, and so it is counted in bin 128.
__global__ void histogram(const float* x, int* counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int bin = __float2int_rd(32.0f * x[i]) + 128;
    if (bin >= 0 && bin < 256) atomicAdd(&counts[bin], 1);
}
