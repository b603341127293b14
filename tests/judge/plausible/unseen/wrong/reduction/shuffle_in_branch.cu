// grid: ceil(n/256)
// block: 256
// fault: member mask
// kinds: inactive_lane member_mask
// __shfl_down_sync with a full mask inside if (i < n): the lanes beyond n never get there, so the last warp's shuffle is undefined where n % 32 != 0.

__global__ void reduction(const float* x, float* total, int n)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float v = x[i];
        v += __shfl_down_sync(0xffffffffu, v, 16);
        v += __shfl_down_sync(0xffffffffu, v, 8);
        v += __shfl_down_sync(0xffffffffu, v, 4);
        v += __shfl_down_sync(0xffffffffu, v, 2);
        v += __shfl_down_sync(0xffffffffu, v, 1);
        if ((threadIdx.x & 31) == 0) atomicAdd(total, v);
    }
}
