// fault: a warp counts in shared memory or in counts, by one pointer, and no __syncwarp() stands behind the clearing
// kinds: race
// grid: 64
// block: 32
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int own[256];
    int* bins = n > 64 ? own : counts;
    for (int b = threadIdx.x; b < 256; b += 32) own[b] = 0;
    for (long long i = blockIdx.x * 32LL + threadIdx.x; i < n; i += 64 * 32) {
        const float v = x[i];
        if (v >= -4.0f && v < 4.0f) atomicAdd(&bins[(int)floorf(v * 32.0f) + 128], 1);
    }
    __syncwarp();
    if (bins == own)
        for (int b = threadIdx.x; b < 256; b += 32)
            if (own[b]) atomicAdd(&counts[b], own[b]);
}
