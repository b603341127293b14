// grid: max(1,n//512)
// block: 512
// fault: tail of a block
// kinds: wrong_result
// The grid is rounded down: what does not fill a block of 512 is left out, but for the first block.
__global__ void sum(const float* x, float* total, int n)
{
    int i = blockIdx.x * 512 + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    for (int o = 1; o < 32; o *= 2) v += __shfl_xor_sync(0xffffffffu, v, o);
    if (threadIdx.x % 32 == 0) atomicAdd(total, v);
}
