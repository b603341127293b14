// grid: 2*K S
// block: 64
// fault: missing barrier
// kinds: race wrong_result unrepeatable uninitialised_read
// Two warps' halves of a score meet in shared memory; the slot is used again for the next token without a second barrier.
#include <cuda_fp16.h>
#include <math.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ float half_score[2];
    int h = blockIdx.x, s = blockIdx.y, d = threadIdx.x, n = lengths[s];
    size_t at = ((size_t)s * 2 * K + h) * 64;
    float m = -INFINITY, l = 0, o = 0, mine = __half2float(q[at + d]) * scale;
    for (int t = 0; t < n; ++t) {
        size_t row = (((size_t)tables[s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64;
        float x = mine * __half2float(keys[row + d]);
        for (int k = 16; k; k >>= 1) x += __shfl_xor_sync(~0u, x, k);
        if (d % 32 == 0) half_score[d / 32] = x;
        __syncthreads();
        x = half_score[0] + half_score[1];
        float w = fmaxf(m, x), c = expf(m - w), p = expf(x - w);
        l = l * c + p; o = o * c + p * __half2float(values[row + d]); m = w;
    }
    out[at + d] = __float2half(n ? o / l : 0.0f);
}
