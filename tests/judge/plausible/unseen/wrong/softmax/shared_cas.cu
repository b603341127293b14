// grid: rows
// block: 256
// fault: CAS sum stale
// kinds: wrong_result unrepeatable
// The lanes 0 of eight warps add to one sum in shared memory by compare-and-swap; who fails tries again with the
// value seen, but stores the sum made from the first.
__global__ void softmax(const float* x, float* y, int rows, int columns)
{
    __shared__ float s[8];
    __shared__ unsigned sum;
    const float* in = x + (size_t)blockIdx.x * columns;
    int t = threadIdx.x;
    float m = -INFINITY, v = 0;
    for (int c = t; c < columns; c += 256) m = fmaxf(m, in[c]);
    for (int d = 16; d; d >>= 1) m = fmaxf(m, __shfl_xor_sync(~0u, m, d));
    if (t % 32 == 0) s[t / 32] = m;
    if (t == 0) sum = 0;
    __syncthreads();
    for (int k = 0; k < 8; ++k) m = fmaxf(m, s[k]);
    for (int c = t; c < columns; c += 256) v += expf(in[c] - m);
    for (int d = 16; d; d >>= 1) v += __shfl_xor_sync(~0u, v, d);
    if (t % 32 == 0) {
        unsigned assumed = atomicAdd(&sum, 0u), desired = __float_as_uint(__uint_as_float(assumed) + v), seen;
        while ((seen = atomicCAS(&sum, assumed, desired)) != assumed) assumed = seen;
    }
    __syncthreads();
    for (int c = t; c < columns; c += 256)
        y[(size_t)blockIdx.x * columns + c] = expf(in[c] - m) / __uint_as_float(sum);
}
