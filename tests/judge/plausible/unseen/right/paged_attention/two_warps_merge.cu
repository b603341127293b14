// Both query heads of a key head in one block, a warp each; keys by one lane per element pair, the running state in a struct.
// grid: S*K
// block: 64
#include <cuda_fp16.h>
struct State {
    float top = -INFINITY, sum = 0.0f;
    float2 o = {0.0f, 0.0f};
    __device__ void add(float s, float2 v)
    {
        const float now = fmaxf(top, s), keep = expf(top - now), p = expf(s - now);
        top = now; sum = fmaf(sum, keep, p);
        o = {fmaf(o.x, keep, p * v.x), fmaf(o.y, keep, p * v.y)};
    }
};
__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables,
    const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    const int s = blockIdx.x / K, kv = blockIdx.x % K, g = threadIdx.x / 32, lane = threadIdx.x % 32;
    const size_t head = ((size_t)s * K + kv) * 2 + g;
    const float2 query = __half22float2(reinterpret_cast<const __half2*>(q + head * 64)[lane]);
    State st;
    for (int t = 0; t < lengths[s]; ++t) {
        const size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + kv) * 16 + t % 16) * 32 + lane;
        const float2 k = __half22float2(reinterpret_cast<const __half2*>(keys)[row]), v = __half22float2(reinterpret_cast<const __half2*>(values)[row]);
        float d = query.x * k.x + query.y * k.y;
        for (int o = 16; o; o /= 2) d += __shfl_xor_sync(~0u, d, o);
        st.add(d * scale, v);
    }
    const float r = st.sum > 0.0f ? 1.0f / st.sum : 0.0f;
    reinterpret_cast<__half2*>(out + head * 64)[lane] = __floats2half2_rn(st.o.x * r, st.o.y * r);
}
