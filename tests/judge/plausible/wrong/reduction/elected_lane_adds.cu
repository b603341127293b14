// grid: max(1, ceil(n/256))
// block: 256
// needs: 9.0
// fault: what PTX leaves open
// kinds: wrong_result unrepeatable
// The sum is complete in lane 0 (shfl_down), and the lane that elect.sync chooses adds it: which lane is
// elected is not specified.
__global__ void sum(const float* x, float* total, int n)
{
    int i = blockIdx.x * 256 + threadIdx.x;
    float v = i < n ? x[i] : 0;
    for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o);
    unsigned chosen;
    asm volatile("{ .reg .pred p; elect.sync _|p, 0xffffffff; selp.u32 %0, 1, 0, p; }" : "=r"(chosen));
    if (chosen) atomicAdd(total, v);
}
