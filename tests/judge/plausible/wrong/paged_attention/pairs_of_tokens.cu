// grid: 2*K S
// block: 32
// fault: tail of 2
// kinds: wrong_result
// Two tokens per step, one per half of the warp: the last token of an odd length is left out.
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    int h = blockIdx.x, s = blockIdx.y, side = threadIdx.x / 16, lane = threadIdx.x % 16;
    size_t at = ((size_t)s * 2 * K + h) * 64;
    float m = -1e30f, l = 0, o[4] = {};
    for (int pair = 0; pair < lengths[s] / 2; ++pair) {
        int t = 2 * pair + side;
        size_t row = (((size_t)tables[s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64;
        float x = 0;
        for (int i = 0; i < 4; ++i) x += __half2float(q[at + lane * 4 + i]) * __half2float(keys[row + lane * 4 + i]);
        for (int k = 8; k; k >>= 1) x += __shfl_xor_sync(~0u, x, k);
        x *= scale;
        float w = fmaxf(m, x), c = __expf(m - w), p = __expf(x - w);
        l = l * c + p;
        for (int i = 0; i < 4; ++i) o[i] = o[i] * c + p * __half2float(values[row + lane * 4 + i]);
        m = w;
    }
    float top = fmaxf(m, __shfl_xor_sync(~0u, m, 16)), c = __expf(m - top);
    l *= c;
    l += __shfl_xor_sync(~0u, l, 16);
    for (int i = 0; i < 4; ++i) {
        o[i] *= c;
        o[i] += __shfl_xor_sync(~0u, o[i], 16);
        if (side == 0) out[at + lane * 4 + i] = __float2half(lengths[s] ? o[i] / l : 0.0f);
    }
}
