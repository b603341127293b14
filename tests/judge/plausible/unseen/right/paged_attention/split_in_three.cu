// grid: S*3 2*K
// block: 32
//
// Three blocks share a head by the given scratch memory; the last of a group's six joins both heads and sets arrived back.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int s = blockIdx.x / 3, third = blockIdx.x % 3, h = blockIdx.y, lane = threadIdx.x, n = lengths[s];
    const size_t head = (size_t)s * 2 * K + h;
    const int piece = (n + 2) / 3, from = min(n, third * piece), to = min(n, from + piece);
    const float2 a = __half22float2(((const __half2*)q)[head * 32 + lane]);
    float top = -1e30f, weights = 0.0f, x = 0.0f, y = 0.0f;
    for (int t = from; t < to; ++t) {
        const size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 32 + lane;
        const float2 k = __half22float2(((const __half2*)keys)[row]), v = __half22float2(((const __half2*)values)[row]);
        float score = a.x * k.x + a.y * k.y;
        for (int o = 16; o; o >>= 1) score += __shfl_xor_sync(~0u, score, o);
        score *= scale;
        const float high = fmaxf(top, score), old = expf(top - high), w = expf(score - high);
        weights = weights * old + w, x = x * old + w * v.x, y = y * old + w * v.y;
        top = high;
    }
    float* mine = partial + (head * 3 + third) * 66;
    mine[2 * lane] = x, mine[2 * lane + 1] = y;
    if (lane == 0) mine[64] = top, mine[65] = weights;
    __threadfence();
    __syncwarp();
    int order = 0;
    if (lane == 0) order = atomicAdd(&arrived[s * K + h / 2], 1);
    order = __shfl_sync(~0u, order, 0);
    if (order < 5) return;
    __threadfence();
    for (size_t g = head - h % 2; g < head - h % 2 + 2; ++g) {
        const float* p = partial + g * 198;
        float high = -1e30f, all = 0.0f;
        x = y = 0.0f;
        for (int i = 0; i < 3; ++i) high = fmaxf(high, __ldcg(p + 66 * i + 64));
        for (int i = 0; i < 3; ++i) {
            const float w = expf(__ldcg(p + 66 * i + 64) - high);
            all += w * __ldcg(p + 66 * i + 65);
            x += w * __ldcg(p + 66 * i + 2 * lane);
            y += w * __ldcg(p + 66 * i + 2 * lane + 1);
        }
        const float share = n > 0 ? 1.0f / all : 0.0f;
        ((__half2*)out)[g * 32 + lane] = __floats2half2_rn(x * share, y * share);
    }
    if (lane == 0) arrived[s * K + h / 2] = 0;
}
