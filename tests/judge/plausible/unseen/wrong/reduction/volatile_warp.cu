// grid: ceil(n/512)
// block: 256
// fault: race
// kinds: race
// The last warp adds up through volatile shared memory with no __syncwarp: volatile orders nothing between lanes, so lanes race (independent thread scheduling; every n).

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ float sums[256];
    const int t = threadIdx.x, i = blockIdx.x * 512 + t;
    sums[t] = (i < n ? x[i] : 0.0f) + (i + 256 < n ? x[i + 256] : 0.0f);
    __syncthreads();
    if (t < 128) sums[t] += sums[t + 128];
    __syncthreads();
    if (t < 64) sums[t] += sums[t + 64];
    __syncthreads();
    if (t < 32) {
        volatile float* v = sums;
        v[t] += v[t + 32];
        v[t] += v[t + 16];
        v[t] += v[t + 8];
        v[t] += v[t + 4];
        v[t] += v[t + 2];
        v[t] += v[t + 1];
    }
    if (t == 0) atomicAdd(total, sums[0]);
}
