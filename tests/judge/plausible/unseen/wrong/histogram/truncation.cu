// grid: ceil(n/256)
// block: 256
// fault: truncation, no floor
// kinds: wrong_result
// A cast rounds towards zero: what lies just below -4 lands in bin 0, and negative bins are one too high.
__global__ void histogram(const float* x, int* counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        int b = (int)(x[i] * 32.0f) + 128;
        if (b >= 0 && b < 256) atomicAdd(&counts[b], 1);
    }
}
