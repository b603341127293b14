// grid: 2*K S
// block: 32
// fault: tail of a block
// kinds: wrong_result
// The last block's tokens are length % 16: none where the length is a multiple of 16.
#include <cuda_fp16.h>
#include <math.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    int h = blockIdx.x, s = blockIdx.y, lane = threadIdx.x, n = lengths[s], blocks = (n + 15) / 16;
    size_t at = ((size_t)s * 2 * K + h) * 64;
    float m = -INFINITY, l = 0, o[2] = {};
    for (int b = 0; b < blocks; ++b) {
        int tokens = b == blocks - 1 ? n % 16 : 16;
        for (int t = 0; t < tokens; ++t) {
            size_t row = (((size_t)tables[s * table_width + b] * K + h / 2) * 16 + t) * 64;
            float x = 0;
            for (int i = lane; i < 64; i += 32) x += __half2float(q[at + i]) * __half2float(keys[row + i]);
            for (int k = 16; k; k >>= 1) x += __shfl_xor_sync(0xffffffffu, x, k);
            x *= scale;
            float w = fmaxf(m, x), c = expf(m - w), p = expf(x - w);
            l = l * c + p;
            for (int i = 0; i < 2; ++i) o[i] = o[i] * c + p * __half2float(values[row + lane + 32 * i]);
            m = w;
        }
    }
    for (int i = 0; i < 2; ++i) out[at + lane + 32 * i] = __float2half(l > 0 ? o[i] / l : 0.0f);
}
