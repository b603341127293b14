// grid: ceil(n/2048)
// block: 256
// fault: warp mask
// kinds: member_mask
// __match_any_sync with a full mask in the grid-stride loop: in the last round some lanes have left.
__global__ void histogram(const float* x, int* counts, int n)
{
    __shared__ int bins[256];
    bins[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        float v = x[i];
        int bin = v >= -4.0f && v < 4.0f ? (int)floorf(v * 32.0f) + 128 : -1;
        unsigned same = __match_any_sync(0xffffffff, bin);
        if (bin >= 0 && (threadIdx.x & 31) == __ffs(same) - 1) atomicAdd(&bins[bin], __popc(same));
    }
    __syncthreads();
    if (bins[threadIdx.x]) atomicAdd(&counts[threadIdx.x], bins[threadIdx.x]);
}
