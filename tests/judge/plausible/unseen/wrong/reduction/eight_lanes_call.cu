// grid: ceil(n/256)
// block: 256
// fault: mask of a shuffle
// kinds: member_mask inactive_lane deadlock barrier_divergence
// Eight lanes shuffle the warps' sums with a mask that names all 32: the others wait at the barrier behind. Any n.

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float part[8];
    const int t = threadIdx.x;
    const size_t i = (size_t)blockIdx.x * 256 + t;
    float v = i < n ? x[i] : 0.0f;
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
    if (!(t & 31)) part[t >> 5] = v;
    __syncthreads();
    if (t < 8) {
        float w = part[t];
        for (int o = 4; o; o >>= 1) w += __shfl_down_sync(0xffffffffu, w, o, 8);
        if (t == 0) part[0] = w;
    }
    __syncthreads();
    if (t == 255) atomicAdd(total, part[0]);
}
