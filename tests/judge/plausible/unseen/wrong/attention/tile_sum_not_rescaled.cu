// grid: ceil(H*G*Q/4)
// block: 128
// fault: numerics: online softmax
// kinds: wrong_result
// When a tile of keys has a new largest score, the values' sum is scaled back, the weights' sum is not.
#include <cuda_fp16.h>

__global__ void attention(const __half* q, const __half* k, const __half* v, __half* out, int H, int G, int Q, int K, int past, float scale)
{
    __shared__ float rows[4][128];
    const int warp = threadIdx.x / 32, row = blockIdx.x * 4 + warp, lane = threadIdx.x % 32;
    if (row >= H * G * Q) return;
    const int kv = row / Q / G, i = row % Q;
    for (int d = lane; d < 128; d += 32) rows[warp][d] = __half2float(q[(size_t)row * 128 + d]);
    __syncwarp();
    float acc[4] = {}, m = -INFINITY, l = 0;
    const int seen = (int)max(0LL, min((long long)K, (long long)i + past + 1));
    for (int j0 = 0; j0 < seen; j0 += 32) {
        const int j = j0 + lane;
        float s = -INFINITY;
        if (j < seen) {
            s = 0;
            for (int d = 0; d < 128; ++d) s += rows[warp][d] * __half2float(k[((size_t)kv * K + j) * 128 + d]);
            s *= scale;
        }
        float top = s;
        for (int o = 16; o; o >>= 1) top = fmaxf(top, __shfl_xor_sync(~0u, top, o));
        top = fmaxf(top, m);
        const float c = expf(m - top), p = expf(s - top);
        l += p;
        for (int d = 0; d < 4; ++d) acc[d] *= c;
        for (int t = 0; t < min(32, seen - j0); ++t) {
            const float w = __shfl_sync(~0u, p, t);
            for (int d = 0; d < 4; ++d) acc[d] += w * __half2float(v[((size_t)kv * K + j0 + t) * 128 + lane + 32 * d]);
        }
        m = top;
    }
    for (int o = 16; o; o >>= 1) l += __shfl_xor_sync(~0u, l, o);
    for (int d = 0; d < 4; ++d) out[(size_t)row * 128 + lane + 32 * d] = __float2half(seen > 0 ? acc[d] / l : 0.0f);
}
