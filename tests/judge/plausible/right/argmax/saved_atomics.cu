// grid: 1
// block: 32
// One warp: the largest by its key, read plainly first to save the atomic, then the lowest index that has it.
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
    __syncwarp();
    if (threadIdx.x == 0) *best = first;
}
