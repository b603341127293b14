// grid: ceil(n/4096)
// block: 256
// fault: shared memory
// kinds: launch compile_error
// Four tiles of 4,096 floats are 64 KiB of static shared memory: more than the 48 KiB that a block may declare.
constexpr int TILE = 4096;
__global__ void staged(const float* a, const float* b, float* c, int n)
{
    __shared__ float sa[2][TILE], sb[2][TILE];
    const int base = blockIdx.x * TILE;
    for (int k = threadIdx.x; k < TILE; k += blockDim.x) {
        sa[0][k] = base + k < n ? a[base + k] : 0.f;
        sb[1][k] = base + k < n ? b[base + k] : 0.f;
    }
    __syncthreads();
    for (int k = threadIdx.x; k < TILE; k += blockDim.x) {
        sa[1][k] = sa[0][k];
        sb[0][k] = sb[1][k];
        if (base + k < n) c[base + k] = sa[1][k] + sb[0][k];
    }
}
