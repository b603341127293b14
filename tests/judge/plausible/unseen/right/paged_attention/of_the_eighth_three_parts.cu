// right: three blocks share a sequence, the last to arrive merges and sets arrived back
// grid: 3 K S
// block: 64
#include <cuda_fp16.h>

__global__ void paged_attention(const __half* q, const __half* keys, const __half* values, const int* tables, const int* lengths, __half* out, float* partial, int* arrived, int S, int K, int table_width, float scale)
{
    __shared__ bool last;
    const int part = blockIdx.x, kv = blockIdx.y, s = blockIdx.z, lane = threadIdx.x % 32, head = kv * 2 + threadIdx.x / 32;
    const int row = s * 2 * K + head, length = lengths[s], each = (length + 2) / 3;
    const float2 a = __half22float2(((const __half2*)q)[(size_t)row * 32 + lane]);
    float m = -INFINITY, l = 0, ox = 0, oy = 0;
    for (int t = part * each; t < min(length, (part + 1) * each); ++t) {
        const size_t at = (((size_t)tables[(size_t)s * table_width + t / 16] * K + kv) * 16 + t % 16) * 32 + lane;
        const float2 k2 = __half22float2(((const __half2*)keys)[at]), v2 = __half22float2(((const __half2*)values)[at]);
        float dot = a.x * k2.x + a.y * k2.y;
        for (int o = 16; o; o >>= 1) dot += __shfl_xor_sync(~0u, dot, o);
        dot *= scale;
        const float top = fmaxf(m, dot), c = expf(m - top), p = expf(dot - top);
        l = l * c + p;
        ox = ox * c + p * v2.x;
        oy = oy * c + p * v2.y;
        m = top;
    }
    float* mine = partial + ((size_t)row * 3 + part) * 66;
    mine[2 * lane] = ox;
    mine[2 * lane + 1] = oy;
    if (lane == 0) {
        mine[64] = m;
        mine[65] = l;
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicAdd(&arrived[s * K + kv], 1) == 2;
    __syncthreads();
    if (!last) return;
    __threadfence();
    const volatile float* all = partial + (size_t)row * 3 * 66;
    const float top = fmaxf(fmaxf(all[64], all[66 + 64]), all[132 + 64]);
    float sum = 0, x = 0, y = 0;
    for (int p = 0; p < 3; ++p)
        if (all[p * 66 + 65] > 0) {
            const float c = expf(all[p * 66 + 64] - top);
            sum += c * all[p * 66 + 65];
            x += c * all[p * 66 + 2 * lane];
            y += c * all[p * 66 + 2 * lane + 1];
        }
    ((__half2*)out)[(size_t)row * 32 + lane] = sum > 0 ? __floats2half2_rn(x / sum, y / sum) : __floats2half2_rn(0, 0);
    if (threadIdx.x == 0) arrived[s * K + kv] = 0;
}
