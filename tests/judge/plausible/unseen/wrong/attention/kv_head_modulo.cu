// grid: ceil(H*G*Q/4)
// block: 128
// fault: index arithmetic
// kinds: wrong_result
// Query head hq uses the key head hq % H; heads of one group lie side by side, it is hq / G.
#include <cuda_fp16.h>

__global__ void attention(const __half* q, const __half* k, const __half* v, __half* out, int H, int G, int Q, int K, int past, float scale)
{
    const int row = blockIdx.x * 4 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= H * G * Q) return;
    const int head = row / Q, i = row % Q, kv = head % H;
    float qv[4], acc[4] = {}, m = -INFINITY, l = 0;
    for (int d = 0; d < 4; ++d) qv[d] = __half2float(q[(size_t)row * 128 + lane + 32 * d]);
    const long long seen = min((long long)K, (long long)i + past + 1);
    for (long long j = 0; j < seen; ++j) {
        const size_t at = ((size_t)kv * K + j) * 128 + lane;
        float s = 0;
        for (int d = 0; d < 4; ++d) s += qv[d] * __half2float(k[at + 32 * d]);
        for (int o = 16; o; o >>= 1) s += __shfl_xor_sync(~0u, s, o);
        s *= scale;
        const float top = fmaxf(m, s), c = expf(m - top), p = expf(s - top);
        l = l * c + p;
        for (int d = 0; d < 4; ++d) acc[d] = acc[d] * c + p * __half2float(v[at + 32 * d]);
        m = top;
    }
    for (int d = 0; d < 4; ++d) out[(size_t)row * 128 + lane + 32 * d] = __float2half(seen > 0 ? acc[d] / l : 0.0f);
}
