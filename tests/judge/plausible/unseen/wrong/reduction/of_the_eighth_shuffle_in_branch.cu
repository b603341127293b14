// grid: ceil(n/256)
// block: 256
// fault: warp mask
// kinds: member_mask inactive_lane
// Shuffle with a full mask inside if (i < n): lanes past the end do not come.
__global__ void reduction(const float* x, float* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        for (int offset = 16; offset > 0; offset /= 2) v += __shfl_down_sync(0xffffffff, v, offset);
        if ((threadIdx.x & 31) == 0) atomicAdd(total, v);
    }
}
