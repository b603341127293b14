// grid: ceil(n/256)
// block: 256
// fault: NaN and infinity
// kinds: wrong_result
// Adds up positive and negative numbers apart; fmaxf and fminf drop a NaN, so the total is a number.
__global__ void sum_split(const float* x, float* total, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v = i < n ? x[i] : 0.0f;
    float up = fmaxf(v, 0.0f), down = fminf(v, 0.0f);
    for (int o = 16; o > 0; o >>= 1) {
        up += __shfl_down_sync(0xffffffffu, up, o);
        down += __shfl_down_sync(0xffffffffu, down, o);
    }
    if (threadIdx.x % 32 == 0) atomicAdd(total, up + down);
}
