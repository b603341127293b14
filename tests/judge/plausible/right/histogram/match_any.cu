// grid: ceil(n/96)
// block: 96
// Lanes of one bin find each other by __match_any_sync, all lanes taking part, and the first of them adds for all.
__global__ void histogram(const float* x, int* counts, int n)
{
    const int i = blockIdx.x * 96 + threadIdx.x;
    const float v = i < n ? x[i] : __int_as_float(0x7fc00000);
    const int bin = v >= -4.0f && v < 4.0f ? __float2int_rd(ldexpf(v, 5)) + 128 : -1;
    const unsigned same = __match_any_sync(0xffffffffu, bin);
    if (bin >= 0 && threadIdx.x % 32 == __ffs(same) - 1) atomicAdd((unsigned*)counts + bin, (unsigned)__popc(same));
}
