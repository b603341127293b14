// grid: ceil(n/256)
// block: 256
// fault: member mask
// kinds: member_mask inactive_lane wrong_result
// Lanes of one bin find each other by __match_any_sync with a full mask, behind guards that some of them did not pass.
__global__ void histogram(const float* x, int* counts, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = x[i];
    if (!(v >= -4.f && v < 4.f)) return;
    int bin = (int)floorf(v * 32.f) + 128;
    unsigned same = __match_any_sync(0xffffffff, bin);
    if (threadIdx.x % 32 == __ffs(same) - 1) atomicAdd(&counts[bin], __popc(same));
}
