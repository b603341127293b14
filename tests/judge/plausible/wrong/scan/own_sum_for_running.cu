// grid: ceil(n/256)
// block: 256
// fault: look-back
// kinds: wrong_result unrepeatable
// The look-back stops at the first predecessor that has published anything, be it the sum of its own tile alone.
__device__ unsigned long long state[1 << 23];
__device__ unsigned blocks;
__global__ void scan(const float* x, float* y, int n)
{
    __shared__ float s[256], before;
    __shared__ unsigned drawn;
    int t = threadIdx.x;
    if (t == 0) {
        drawn = atomicAdd(&blocks, 1u);
    }
    __syncthreads();
    unsigned tile = blockIdx.x, epoch = 4 * (drawn / gridDim.x);
    long long i = tile * 256LL + t;
    s[t] = i < n ? x[i] : 0;
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        float v = t >= d ? s[t - d] : 0;
        __syncthreads();
        s[t] += v;
    }
    __syncthreads();
    if (t == 0) {
        atomicExch(&state[tile], (unsigned long long)(epoch + 1) << 32 | __float_as_uint(s[255]));
        before = 0;
        if (tile > 0) {
            unsigned long long seen;
            do seen = atomicAdd(&state[tile - 1], 0ull); while ((unsigned)(seen >> 32) - epoch - 1 > 1);
            before = __uint_as_float((unsigned)seen);
        }
        atomicExch(&state[tile], (unsigned long long)(epoch + 2) << 32 | __float_as_uint(before + s[255]));
    }
    __syncthreads();
    if (i < n) y[i] = before + s[t];
}
