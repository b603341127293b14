// grid: 1
// block: 32
// fault: missing syncwarp
// kinds: race
// One warp: the largest by its key, then the lowest index by an atomicMin, which lane 0 reads behind its own without a __syncwarp().
__device__ unsigned key(float v)
{
    if (isnan(v)) return 0xffffffffu;
    unsigned bits = __float_as_uint(v == 0 ? 0.0f : v);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

__global__ void argmax(const float* x, long long* best, int n)
{
    __shared__ unsigned most;
    __shared__ int first;
    if (threadIdx.x == 0) most = 0, first = n;
    __syncwarp();
    unsigned mine = 0;
    for (int i = threadIdx.x; i < n; i += 32) {
        mine = key(x[i]);
        if (most < mine) atomicMax(&most, mine);
    }
    __syncwarp();
    for (int i = threadIdx.x; i < n; i += 32)
        if (key(x[i]) == most) {
            atomicMin(&first, i);
            break;
        }
    if (threadIdx.x == 0) *best = first;
}
