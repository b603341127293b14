// grid: ceil(n/256)
// block: 256
// fault: uninitialised shared memory through warp intrinsics
// kinds: uninitialised_read out_of_bounds wrong_result
// Lanes with an element set a flag, the warp adds the flags up and takes a short way at 32: flags past the end were never set
// to anything. n % 32 != 0.

__global__ void reduction(const float* x, float* total, int n)
{
    __shared__ int flag[256];
    __shared__ float part[8];
    const int t = threadIdx.x, i = blockIdx.x * 256 + t;
    if (i < n) flag[t] = 1;
    __syncwarp();
    const int members = __reduce_add_sync(~0u, flag[t]);
    float v;
    if (members == 32) {
        v = x[i];
    } else {
        v = 0.0f;
        if (i < n) v = x[i];
    }
    for (int o = 16; o; o >>= 1) v += __shfl_xor_sync(~0u, v, o);
    if (t % 32 == 0) part[t / 32] = v;
    __syncthreads();
    if (t == 0) {
        for (int k = 1; k < 8; ++k) v += part[k];
        atomicAdd(total, v);
    }
}
