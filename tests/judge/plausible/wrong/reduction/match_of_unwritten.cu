// grid: ceil(n/128)
// block: 128
// fault: uninitialised shared
// kinds: uninitialised_read wrong_result
// Lanes of equal labels add up by __match_any_sync; the labels lie in shared memory, and threads behind n have written none.
__global__ void sum_by_label(const float* x, float* total, int n)
{
    __shared__ int label[128];
    int t = threadIdx.x, i = blockIdx.x * 128 + t;
    if (i < n) label[t] = t % 4;
    __syncthreads();
    float v = i < n ? x[i] : 0.0f;
    unsigned peers = __match_any_sync(0xffffffffu, label[t]);
    float sum = 0;
    for (unsigned left = 0xffffffffu; left; left &= left - 1) {
        int lane = __ffs(left) - 1;
        float other = __shfl_sync(0xffffffffu, v, lane);
        if (peers >> lane & 1) sum += other;
    }
    if (t % 32 == __ffs(peers) - 1) atomicAdd(total, sum);
}
