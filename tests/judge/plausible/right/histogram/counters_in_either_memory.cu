// grid: 16
// block: 128
// One pointer for the counters: a block's own where there is much to count, else those of all blocks.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int own[256];
    int* bins = n > 64 ? own : counts;
    if (bins == own) {
        for (int b = threadIdx.x; b < 256; b += 128) bins[b] = 0;
        __syncthreads();
    }
    for (long long i = blockIdx.x * 128LL + threadIdx.x; i < n; i += 16 * 128) {
        const float v = x[i];
        if (v >= -4.0f && v < 4.0f) atomicAdd(&bins[(int)floorf(v * 32.0f) + 128], 1);
    }
    if (bins == counts) return;
    __syncthreads();
    for (int b = threadIdx.x; b < 256; b += 128) atomicAdd(&counts[b], bins[b]);
}
