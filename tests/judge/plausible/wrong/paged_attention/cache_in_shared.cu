// grid: K S
// block: 64
// shared: 2*4*64*16*table_width
// fault: shared memory
// kinds: launch
// All keys and values of a sequence as floats in shared memory: 8 KiB per block of 16 tokens, 512 KiB at 64 blocks.
#include <cuda_fp16.h>
#include <math.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    extern __shared__ float cache[];
    int kv = blockIdx.x, s = blockIdx.y, d = threadIdx.x, n = lengths[s];
    float *k = cache, *v = cache + 1024 * table_width;
    for (int t = 0; t < n; ++t) {
        size_t row = (((size_t)tables[s * table_width + t / 16] * K + kv) * 16 + t % 16) * 64;
        k[t * 64 + d] = __half2float(keys[row + d]);
        v[t * 64 + d] = __half2float(values[row + d]);
    }
    __syncthreads();
    for (int h = 2 * kv; h < 2 * kv + 2; ++h) {
        size_t at = ((size_t)s * 2 * K + h) * 64;
        float m = -INFINITY, l = 0, o = 0;
        for (int t = 0; t < n; ++t) {
            float x = 0;
            for (int i = 0; i < 64; ++i) x += __half2float(q[at + i]) * k[t * 64 + i];
            x *= scale;
            float w = fmaxf(m, x), c = expf(m - w), p = expf(x - w);
            l = l * c + p; o = o * c + p * v[t * 64 + d]; m = w;
        }
        out[at + d] = __float2half(n ? o / l : 0.0f);
    }
}
