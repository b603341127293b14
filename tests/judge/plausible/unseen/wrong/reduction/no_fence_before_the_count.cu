// grid: ceil(n/512)
// block: 512
// fault: race between blocks
// kinds: race wrong_result
// A block's sum is stored and counted without a fence between: the last block may read sums that have not arrived.

__device__ float by_block[1 << 20];
__device__ unsigned count;

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float s[512];
    __shared__ bool last;
    const int t = threadIdx.x, i = blockIdx.x * 512 + t;
    s[t] = i < n ? x[i] : 0.0f;
    for (int w = 256; w > 0; w >>= 1) {
        __syncthreads();
        if (t < w) s[t] += s[t + w];
    }
    if (t == 0) {
        by_block[blockIdx.x] = s[0];
        last = atomicInc(&count, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    float v = 0.0f;
    for (unsigned b = t; b < gridDim.x; b += 512) v += by_block[b];
    __syncthreads();
    s[t] = v;
    for (int w = 256; w > 0; w >>= 1) {
        __syncthreads();
        if (t < w) s[t] += s[t + w];
    }
    if (t == 0) total[0] += s[0];
}
