// grid: 1 1 S*2*K*32
// block: 32
// fault: launch
// kinds: launch
// A warp for two outputs, along z: 128 sequences of 16 heads are 65,536 blocks, and z ends at 65,535.
#include <cuda_fp16.h>
#include <math.h>
__global__ void attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                          __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    int head = blockIdx.z / 32, d = blockIdx.z % 32 * 2, s = head / (2 * K), h = head % (2 * K), n = lengths[s], lane = threadIdx.x;
    size_t at = (size_t)head * 64;
    float m = -INFINITY, l = 0, o0 = 0, o1 = 0;
    for (int t = 0; t < n; ++t) {
        size_t row = (((size_t)tables[s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64;
        float x = 0;
        for (int i = lane; i < 64; i += 32) x += __half2float(q[at + i]) * __half2float(keys[row + i]);
        for (int k = 16; k; k >>= 1) x += __shfl_xor_sync(~0u, x, k);
        x *= scale;
        float w = fmaxf(m, x), c = expf(m - w), p = expf(x - w);
        l = l * c + p; m = w;
        o0 = o0 * c + p * __half2float(values[row + d]);
        o1 = o1 * c + p * __half2float(values[row + d + 1]);
    }
    if (lane < 2) out[at + d + lane] = __float2half(n ? (lane ? o1 : o0) / l : 0.0f);
}
