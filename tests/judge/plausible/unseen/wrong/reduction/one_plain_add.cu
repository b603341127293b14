// grid: 32
// block: 128
// fault: race
// kinds: race
// Block 0 adds to total with a plain += while the other blocks use atomicAdd: a race that loses sums (n > 128).

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float sums[4];
    float v = 0.0f;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) v += x[i];
    for (int d = 16; d > 0; d >>= 1) v += __shfl_xor_sync(0xffffffffu, v, d);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x != 0) return;
    v = sums[0] + sums[1] + sums[2] + sums[3];
    if (blockIdx.x == 0) *total += v;
    else atomicAdd(total, v);
}
