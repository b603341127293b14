// grid: ceil(n/1024)
// block: 256
// fault: near formula
// kinds: wrong_result out_of_bounds
// Sums the distances from x[0] and adds n x[0]: NaN where x[0] is infinite, inexact where it is huge, and x[0] is read of n = 0.

__global__ void reduction(const float* x, float* total, int n)
{
    const float origin = x[0];
    __shared__ float s[8];
    float v = 0.0f;
    int members = 0;
    for (int k = 0; k < 4; ++k) {
        const int i = blockIdx.x * 1024 + 256 * k + threadIdx.x;
        if (i < n) v += x[i] - origin, ++members;
    }
    v += members * origin;
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (threadIdx.x % 32 == 0) s[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x == 0) atomicAdd(total, s[0] + s[1] + s[2] + s[3] + s[4] + s[5] + s[6] + s[7]);
}
