// grid: ceil(n/256)
// block: 256
// fault: member mask
// kinds: member_mask inactive_lane wrong_result
// Each half of a warp adds up with the mask of the lower half: lanes 16 to 31 call with a mask that does not name them.
__global__ void sum16(const float* x, float* total, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int o = 8; o; o /= 2) v += __shfl_xor_sync(0x0000ffffu, v, o);
    if (threadIdx.x % 16 == 0) atomicAdd(total, v);
}
