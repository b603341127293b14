// grid: ceil(n/256)
// block: 256
// fault: race between blocks
// kinds: race wrong_result
// Block 0 adds its sum to total without an atomic, as if it had run before all others: more than one block.

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[256];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = i < n ? x[i] : 0.0f;
    __syncthreads();
    for (int w = 1; w < 256; w *= 2) {
        if (t % (2 * w) == 0) s[t] += s[t + w];
        __syncthreads();
    }
    if (t != 0) return;
    if (blockIdx.x == 0)
        *total = *total + s[0];
    else
        atomicAdd(total, s[0]);
}
