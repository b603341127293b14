// grid: ceil(n/256)
// block: 128
// fault: missing syncwarp
// kinds: race wrong_result unrepeatable
// The classic unrolled last warp of the days before Volta: volatile, and no __syncwarp between the steps.
__device__ void warpReduce(volatile float* s, int t)
{
    s[t] += s[t + 32];
    s[t] += s[t + 16];
    s[t] += s[t + 8];
    s[t] += s[t + 4];
    s[t] += s[t + 2];
    s[t] += s[t + 1];
}
extern "C" __global__ void reduce6(const float* x, float* total, int n)
{
    __shared__ float s[128];
    int t = threadIdx.x, i = blockIdx.x * 256 + t;
    s[t] = (i < n ? x[i] : 0) + (i + 128 < n ? x[i + 128] : 0);
    __syncthreads();
    if (t < 64) s[t] += s[t + 64];
    __syncthreads();
    if (t < 32) warpReduce(s, t);
    if (t == 0) atomicAdd(total, s[0]);
}
