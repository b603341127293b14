// grid: 2 K S
// block: 64
// Two blocks per key head; the second to arrive merges both parts, fenced, and takes the counter back to 0.
#include <cuda_fp16.h>
__global__ void split(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths,
                      __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ int place;
    const int part = blockIdx.x, kv = blockIdx.y, s = blockIdx.z, d = threadIdx.x, n = lengths[s];
    for (int g = 0; g < 2; ++g) {
        const size_t head = (size_t)s * 2 * K + 2 * kv + g;
        float m = -1e30f, l = 0, o = 0;
        for (int t = part; t < n; t += 2) {
            const size_t row = (((size_t)tables[(size_t)s * table_width + t / 16] * K + kv) * 16 + t % 16) * 64;
            float x = 0;
            for (int i = 0; i < 64; ++i) x += __half2float(q[head * 64 + i]) * __half2float(keys[row + i]);
            x *= scale;
            const float w = fmaxf(m, x), c = expf(m - w), p = expf(x - w);
            l = l * c + p;
            o = o * c + p * __half2float(values[row + d]);
            m = w;
        }
        float* mine = partial + (head * 3 + part) * 66;
        mine[d] = o;
        if (d == 0) mine[64] = m, mine[65] = l;
    }
    __threadfence();
    __syncthreads();
    if (d == 0) place = atomicAdd(&arrived[s * K + kv], 1);
    __syncthreads();
    if (place == 0) return;
    __threadfence();
    if (d == 0) arrived[s * K + kv] = 0;
    for (int g = 0; g < 2; ++g) {
        const size_t head = (size_t)s * 2 * K + 2 * kv + g;
        const volatile float *a = partial + head * 3 * 66, *b = a + 66;
        const float top = fmaxf(a[64], b[64]), ca = expf(a[64] - top), cb = expf(b[64] - top), l = ca * a[65] + cb * b[65];
        out[head * 64 + d] = __float2half(l > 0.0f ? (ca * a[d] + cb * b[d]) / l : 0.0f);
    }
}
