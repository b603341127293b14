// grid: K S
// block: 128
// A block of the cache at a time by 16-byte cp.async into two stages; the first two warps take one query head, the others the other.
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ __align__(16) __half stage[2][2][16 * 64];
    const int kv = blockIdx.x, s = blockIdx.y, g = threadIdx.x / 64, d = threadIdx.x % 64, n = lengths[s], blocks = (n + 15) / 16;
    const size_t at = ((size_t)s * 2 * K + 2 * kv + g) * 64;
    auto fetch = [&](int b) {
        if (b < blocks) {
            const size_t from = ((size_t)tables[(size_t)s * table_width + b] * K + kv) * 1024 + 8 * threadIdx.x;
            __pipeline_memcpy_async(&stage[b & 1][0][8 * threadIdx.x], keys + from, 16);
            __pipeline_memcpy_async(&stage[b & 1][1][8 * threadIdx.x], values + from, 16);
        }
        __pipeline_commit();
    };
    float m = -1e30f, l = 0, o = 0;
    fetch(0);
    for (int b = 0; b < blocks; ++b) {
        fetch(b + 1);
        __pipeline_wait_prior(1);
        __syncthreads();
        const __half *key = stage[b & 1][0], *value = stage[b & 1][1];
        for (int t = 0; t < min(16, n - 16 * b); ++t) {
            float x = 0;
            for (int i = 0; i < 64; ++i) x += __half2float(q[at + i]) * __half2float(key[t * 64 + i]);
            x *= scale;
            const float w = fmaxf(m, x), c = expf(m - w), p = expf(x - w);
            l = l * c + p;
            o = o * c + p * __half2float(value[t * 64 + d]);
            m = w;
        }
        __syncthreads();
    }
    out[at + d] = __float2half(l > 0.0f ? o / l : 0.0f);
}
