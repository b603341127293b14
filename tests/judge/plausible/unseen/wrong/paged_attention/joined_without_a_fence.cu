// grid: S 2*K 2
// block: 32
// fault: race between blocks
// kinds: race wrong_result
// Two blocks share a head through partial, the last of a group's four joins both heads; nobody fences between writing and counting.

#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int s = blockIdx.x, h = blockIdx.y, part = blockIdx.z, lane = threadIdx.x, n = lengths[s], middle = n / 2;
    const size_t head = (size_t)s * 2 * K + h;
    const float2 a = __half22float2(((const __half2*)(q + head * 64))[lane]);
    float top = -1e30f, weights = 0.0f;
    float2 sum = make_float2(0.0f, 0.0f);
    for (int t = part ? middle : 0; t < (part ? n : middle); ++t) {
        const size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + h / 2) * 16 + t % 16) * 64;
        const float2 k = __half22float2(((const __half2*)(keys + row))[lane]), v = __half22float2(((const __half2*)(values + row))[lane]);
        float score = a.x * k.x + a.y * k.y;
        for (int o = 16; o; o >>= 1) score += __shfl_xor_sync(~0u, score, o);
        score *= scale;
        const float high = fmaxf(top, score), old = expf(top - high), w = expf(score - high);
        weights = weights * old + w;
        sum.x = sum.x * old + w * v.x, sum.y = sum.y * old + w * v.y;
        top = high;
    }
    float* mine = partial + (head * 3 + part) * 66;
    mine[lane] = sum.x, mine[32 + lane] = sum.y;
    if (lane == 0) mine[64] = top, mine[65] = weights;
    __syncwarp();
    int order = 0;
    if (lane == 0) order = atomicAdd(arrived + s * K + h / 2, 1);
    order = __shfl_sync(~0u, order, 0);
    if (order != 3) return;
    if (lane == 0) arrived[s * K + h / 2] = 0;
    for (size_t g = head - h % 2; g < head - h % 2 + 2; ++g) {
        const volatile float *p = partial + g * 198, *r = p + 66;
        const float high = fmaxf(p[64], r[64]), u = expf(p[64] - high), v = expf(r[64] - high), all = p[65] * u + r[65] * v;
        const float x = all > 0 ? (p[lane] * u + r[lane] * v) / all : 0, y = all > 0 ? (p[32 + lane] * u + r[32 + lane] * v) / all : 0;
        ((__half2*)(out + g * 64))[lane] = __floats2half2_rn(x, y);
    }
}
