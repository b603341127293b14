// grid: ceil(n/96)
// block: 96
// fault: uninitialised shared memory through warp intrinsics
// kinds: uninitialised_read wrong_result
// Three warps write their sums, four are shuffled together: part[3] holds what was there before. Any n.

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float part[4];
    const int t = threadIdx.x, i = blockIdx.x * 96 + t;
    float v = i < n ? x[i] : 0.0f;
    for (int o = 16; o; o >>= 1) v += __shfl_down_sync(~0u, v, o);
    if (t % 32 == 0) part[t / 32] = v;
    __syncthreads();
    if (t < 32) {
        v = part[t & 3];
        v += __shfl_xor_sync(~0u, v, 1);
        v += __shfl_xor_sync(~0u, v, 2);
        if (t == 0) atomicAdd(total, v);
    }
}
