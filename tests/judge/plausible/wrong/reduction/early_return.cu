// grid: ceil(n/256)
// block: 256
// fault: member mask
// kinds: member_mask wrong_result inactive_lane
// Lanes behind n leave before the shuffles, whose mask names them: undefined where n % 32 is not 0.
__global__ void reduceWarp(const float* x, float* total, int n)
{
    int idx = blockIdx.x * blockDim.x + threadIdx.x;
    if (idx >= n) return;
    float val = x[idx];
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        val += __shfl_down_sync(0xffffffff, val, offset);
    if (threadIdx.x % warpSize == 0) atomicAdd(total, val);
}
