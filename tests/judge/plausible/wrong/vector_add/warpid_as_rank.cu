// grid: ceil(n/256)
// block: 256
// fault: what PTX leaves open
// kinds: wrong_result unrepeatable out_of_bounds
// %warpid is taken for threadIdx.x/32: PTX says it is the slot on the multiprocessor, volatile, and not the
// rank of the warp in its block; with other blocks on the SM it is 0..63.
__global__ void add(const float* a, const float* b, float* c, int n)
{
    unsigned warp, lane;
    asm volatile("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    int i = blockIdx.x * 256 + warp * 32 + lane;
    if (i < n) c[i] = a[i] + b[i];
}
