// grid: min(ceil(n/2048),SMS)
// block: 256
// fault: missing barrier
// kinds: race
// Bins for each warp, so only the warp's lanes are made to wait; but all warps' bins are added up at the end.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int bins[8][256];
    int t = threadIdx.x, w = t / 32;
    for (int k = t % 32; k < 256; k += 32) bins[w][k] = 0;
    __syncwarp();
    for (long long i = blockIdx.x * 256LL + t; i < n; i += 256LL * gridDim.x) {
        float v = x[i];
        if (v >= -4.0f && v < 4.0f) atomicAdd(&bins[w][(int)floorf(v * 32) + 128], 1);
    }
    __syncwarp();
    int sum = 0;
    for (int k = 0; k < 8; ++k) sum += bins[k][t];
    if (sum) atomicAdd(&counts[t], sum);
}
