// The mask as key - past <= query, in ints.
// Wrong for past near -2^31: key - past overflows and is negative, so that keys are seen. Smallest: H = G = Q = 1, K = 2,
// past = -2147483647 (no key is seen, out must be 0): key 1 - past = -2^31 <= 0: seen.
// grid: ceil(Q/64)*G*H
// block: 64
// fault: past underflows
// kinds: wrong_result
#include <cuda_fp16.h>
__global__ void attention(const __half* q, const __half* k, const __half* v, __half* out, int H, int G, int Q, int K,
                          int past, float scale)
{
    const int tiles = (Q + 63) / 64, head = blockIdx.x / tiles, query = blockIdx.x % tiles * 64 + threadIdx.x;
    if (query >= Q) return;
    const __half* mine = q + ((size_t)head * Q + query) * 128;
    const __half* keys = k + (size_t)(head / G) * K * 128;
    const __half* values = v + (size_t)(head / G) * K * 128;
    float top = -INFINITY, sum = 0.0f, o[128];
    for (int d = 0; d < 128; ++d) o[d] = 0.0f;
    for (int key = 0; key < K; ++key) {
        // unsigned subtraction: no undefined behaviour, the difference is taken as signed
        if ((int)((unsigned)key - (unsigned)past) > query) continue;
        float s = 0.0f;
        for (int d = 0; d < 128; ++d) s += __half2float(mine[d]) * __half2float(keys[(size_t)key * 128 + d]);
        s *= scale;
        const float now = fmaxf(top, s), keep = __expf(top - now), p = __expf(s - now);
        top = now; sum = sum * keep + p;
        for (int d = 0; d < 128; ++d) o[d] = o[d] * keep + p * __half2float(values[(size_t)key * 128 + d]);
    }
    for (int d = 0; d < 128; ++d) out[((size_t)head * Q + query) * 128 + d] = __float2half(sum > 0.0f || sum != sum ? o[d] / sum : 0.0f);
}
